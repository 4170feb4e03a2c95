// Extended grapheme clusters straight from the rules of UAX #29, for tests: each
// position is decided alone, looking back as far as the rule says. Slow.
#ifndef TRELLIS_TESTS_REFERENCE_GRAPHEME_H_
#define TRELLIS_TESTS_REFERENCE_GRAPHEME_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "trellis/internal/text/unicode_tables.h"

namespace trellis::reference {

// Whether text[..at) ends with \p{Extended_Pictographic} Extend* ZWJ.
inline bool EndsWithPictographAndJoiner(std::span<const uint32_t> text, size_t at) {
  using internal::GraphemeBreak;
  using internal::GraphemeBreakOf;
  if (at == 0 || GraphemeBreakOf(text[at - 1]) != GraphemeBreak::kZwj) return false;
  size_t i = at - 1;
  while (i > 0 && GraphemeBreakOf(text[i - 1]) == GraphemeBreak::kExtend) --i;
  return i > 0 && GraphemeBreakOf(text[i - 1]) == GraphemeBreak::kExtendedPictographic;
}

// Whether text[..at) ends with \p{InCB=Consonant} [\p{InCB=Extend} \p{InCB=Linker}]*
// in which there is a Linker.
inline bool EndsWithLinkedConsonant(std::span<const uint32_t> text, size_t at) {
  using internal::IndicConjunct;
  bool linked = false;
  for (size_t i = at; i > 0; --i) {
    const IndicConjunct conjunct = internal::IndicConjunctOf(text[i - 1]);
    if (conjunct == IndicConjunct::kConsonant) return linked;
    if (conjunct == IndicConjunct::kNone) return false;
    if (conjunct == IndicConjunct::kLinker) linked = true;
  }
  return false;
}

// How many regional indicators text[..at) ends with.
inline size_t RegionalIndicatorsBefore(std::span<const uint32_t> text, size_t at) {
  size_t count = 0;
  while (count < at &&
         internal::GraphemeBreakOf(text[at - 1 - count]) == internal::GraphemeBreak::kRegionalIndicator) {
    ++count;
  }
  return count;
}

// Whether a cluster begins at text[at].
inline bool IsGraphemeBoundary(std::span<const uint32_t> text, size_t at) {
  using enum internal::GraphemeBreak;
  if (at == 0 || at == text.size()) return true;  // GB1, GB2
  const internal::GraphemeBreak a = internal::GraphemeBreakOf(text[at - 1]);
  const internal::GraphemeBreak b = internal::GraphemeBreakOf(text[at]);
  const auto is_control = [](internal::GraphemeBreak g) { return g == kControl || g == kCr || g == kLf; };

  if (a == kCr && b == kLf) return false;                                      // GB3
  if (is_control(a)) return true;                                              // GB4
  if (is_control(b)) return true;                                              // GB5
  if (a == kL && (b == kL || b == kV || b == kLv || b == kLvt)) return false;  // GB6
  if ((a == kLv || a == kV) && (b == kV || b == kT)) return false;             // GB7
  if ((a == kLvt || a == kT) && b == kT) return false;                         // GB8
  if (b == kExtend || b == kZwj) return false;                                 // GB9
  if (b == kSpacingMark) return false;                                         // GB9a
  if (a == kPrepend) return false;                                             // GB9b
  if (internal::IndicConjunctOf(text[at]) == internal::IndicConjunct::kConsonant &&
      EndsWithLinkedConsonant(text, at)) {
    return false;  // GB9c
  }
  if (b == kExtendedPictographic && EndsWithPictographAndJoiner(text, at)) return false;     // GB11
  if (b == kRegionalIndicator && RegionalIndicatorsBefore(text, at) % 2 == 1) return false;  // GB12, GB13
  return true;                                                                               // GB999
}

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_GRAPHEME_H_
