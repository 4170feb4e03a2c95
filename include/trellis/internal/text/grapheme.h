// Extended grapheme clusters (UAX #29, Unicode 16.0), one code point at a time.
//
// The Hugging Face dialect applies its charsmap to a whole cluster when that is
// short, so a cluster cut elsewhere than in the reference changes ids.
//
// Holds for any code points: nothing is allocated, nothing is read twice, and
// what lies before a boundary never decides a later one. The last is a property
// of the rules: each looks back only over code points that the rules keep
// together. So a cluster may be scanned alone.
//
// The rules (grapheme_rules.h) become a table of steps at compile time: a code
// point costs its properties and one load, without a branch.
#ifndef TRELLIS_INTERNAL_TEXT_GRAPHEME_H_
#define TRELLIS_INTERNAL_TEXT_GRAPHEME_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "trellis/internal/text/grapheme_rules.h"
#include "trellis/internal/text/unicode_tables.h"

namespace trellis::internal {

// The states that occur, as row numbers, and the step from each with each
// value of the property bits: the next row, and whether a boundary is passed.
struct GraphemeSteps {
  static constexpr size_t kColumns = 64;  // GraphemeBreak and IndicConjunct as packed in UnicodeProperties
  static constexpr size_t kMaxRows = 32;
  static constexpr uint8_t kBoundary = 0x80;

  std::array<std::array<uint8_t, kColumns>, kMaxRows> step = {};
};

consteval GraphemeSteps MakeGraphemeSteps() {
  GraphemeSteps steps;
  std::array<GraphemeState, GraphemeSteps::kMaxRows> rows = {};
  size_t row_count = 1;  // row 0: the state before any text
  for (size_t row = 0; row < row_count; ++row) {
    for (size_t column = 0; column < GraphemeSteps::kColumns; ++column) {
      const auto next = static_cast<GraphemeBreak>(column & kGraphemeBreakMask);
      auto conjunct = static_cast<IndicConjunct>(column >> kIndicConjunctShift);
      // Only these values of the two properties meet; the other columns are
      // never read, and states for them would only make the table larger.
      const bool meet = conjunct == IndicConjunct::kConsonant ? next == GraphemeBreak::kOther
                        : conjunct == IndicConjunct::kLinker
                            ? next == GraphemeBreak::kExtend
                            : next == GraphemeBreak::kExtend || next == GraphemeBreak::kZwj;
      if (!meet) conjunct = IndicConjunct::kNone;
      const bool joins = GraphemeJoins(rows[row], next, conjunct);
      const GraphemeState state = GraphemeAppend(joins ? rows[row] : GraphemeState(), next, conjunct);
      size_t target = 0;
      while (target < row_count && !(rows[target] == state)) ++target;
      // Beyond kMaxRows this does not compile.
      if (target == row_count) rows[row_count++] = state;
      steps.step[row][column] = static_cast<uint8_t>(target | (joins ? 0 : GraphemeSteps::kBoundary));
    }
  }
  return steps;
}

inline constexpr GraphemeSteps kGraphemeSteps = MakeGraphemeSteps();

class GraphemeScanner {
 public:
  // Starts a text, or a cluster, with `first_code_point` (GB1).
  void Reset(uint32_t first_code_point) {
    row_ = 0;
    BoundaryBefore(first_code_point);
  }

  // Whether a cluster ends between the code points so far and
  // `next_code_point`, which is taken in: after `true` it is the first of a new
  // cluster. Before the first Reset, as after Reset('a').
  bool BoundaryBefore(uint32_t next_code_point) {
    const uint8_t properties = UnicodeProperties(next_code_point) & (kGraphemeBreakMask | kIndicConjunctMask);
    const uint8_t step = kGraphemeSteps.step[row_][properties];
    row_ = step & ~GraphemeSteps::kBoundary;
    return (step & GraphemeSteps::kBoundary) != 0;
  }

 private:
  uint8_t row_ = 0;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_GRAPHEME_H_
