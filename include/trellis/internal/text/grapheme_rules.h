// The rules of UAX #29 (Unicode 16.0) for extended grapheme clusters, over
// properties: what must be remembered of a cluster, and when the next code point
// joins it. Evaluated by the compiler only, to build the table in grapheme.h.
#ifndef TRELLIS_INTERNAL_TEXT_GRAPHEME_RULES_H_
#define TRELLIS_INTERNAL_TEXT_GRAPHEME_RULES_H_

#include <cstdint>

#include "trellis/internal/text/unicode_tables.h"

namespace trellis::internal {

// A cluster as far as it is read.
struct GraphemeState {
  // How far it ends with the left side of GB11, \p{Extended_Pictographic}
  // Extend* ZWJ.
  enum class Emoji : uint8_t { kNone, kPictograph, kJoined };
  // How far it ends with the left side of GB9c: a Consonant, then Extend and
  // Linker in any order, at least one Linker.
  enum class Conjunct : uint8_t { kNone, kConsonant, kLinked };

  GraphemeBreak last = GraphemeBreak::kOther;
  Emoji emoji = Emoji::kNone;
  Conjunct conjunct = Conjunct::kNone;
  bool odd_indicators = false;  // it ends with an odd number of regional indicators (GB12, GB13)

  friend constexpr bool operator==(const GraphemeState&, const GraphemeState&) = default;
};

// Whether a code point stays in the cluster. GB3 to GB13 in their order: the
// first that fits decides.
constexpr bool GraphemeJoins(const GraphemeState& state, GraphemeBreak next, IndicConjunct next_conjunct) {
  using enum GraphemeBreak;
  const GraphemeBreak last = state.last;
  if (last == kCr && next == kLf) return true;                       // GB3
  if (last == kControl || last == kCr || last == kLf) return false;  // GB4
  if (next == kControl || next == kCr || next == kLf) return false;  // GB5
  if (last == kL) {
    if (next == kL || next == kV || next == kLv || next == kLvt) return true;  // GB6
  }
  if ((last == kLv || last == kV) && (next == kV || next == kT)) return true;  // GB7
  if ((last == kLvt || last == kT) && next == kT) return true;                 // GB8
  if (next == kExtend || next == kZwj) return true;                            // GB9
  if (next == kSpacingMark) return true;                                       // GB9a
  if (last == kPrepend) return true;                                           // GB9b
  if (next_conjunct == IndicConjunct::kConsonant) {
    if (state.conjunct == GraphemeState::Conjunct::kLinked) return true;  // GB9c
  }
  if (next == kExtendedPictographic) return state.emoji == GraphemeState::Emoji::kJoined;  // GB11
  if (next == kRegionalIndicator) return state.odd_indicators;                             // GB12, GB13
  return false;                                                                            // GB999
}

// The cluster of `state` with one more code point, which joins it. A cluster
// begins as one joins GraphemeState().
constexpr GraphemeState GraphemeAppend(const GraphemeState& state, GraphemeBreak next,
                                       IndicConjunct next_conjunct) {
  using Emoji = GraphemeState::Emoji;
  using Conjunct = GraphemeState::Conjunct;
  GraphemeState result;
  result.last = next;
  if (next == GraphemeBreak::kExtendedPictographic) {
    result.emoji = Emoji::kPictograph;
  } else if (state.emoji == Emoji::kPictograph) {
    if (next == GraphemeBreak::kExtend) result.emoji = Emoji::kPictograph;
    if (next == GraphemeBreak::kZwj) result.emoji = Emoji::kJoined;
  }
  if (next_conjunct == IndicConjunct::kConsonant) {
    result.conjunct = Conjunct::kConsonant;
  } else if (next_conjunct == IndicConjunct::kExtend) {
    result.conjunct = state.conjunct;
  } else if (next_conjunct == IndicConjunct::kLinker && state.conjunct != Conjunct::kNone) {
    result.conjunct = Conjunct::kLinked;
  }
  result.odd_indicators = next == GraphemeBreak::kRegionalIndicator && !state.odd_indicators;
  return result;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_GRAPHEME_RULES_H_
