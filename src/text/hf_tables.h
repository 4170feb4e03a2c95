// Rows of the generated tables (tools/make_hf_tables); what reads them is
// include/trellis/internal/text/hf_properties.h and normal_form.h.
#ifndef TRELLIS_SRC_TEXT_HF_TABLES_H_
#define TRELLIS_SRC_TEXT_HF_TABLES_H_

#include <cstdint>
#include <span>

namespace trellis::internal {

// Code points first..last have this entry; all others have 0.
struct HfRun {
  uint32_t first;
  uint32_t last;
  uint32_t entry;
};

// Each step-th code point of first..last has its lowercase so far away.
struct LowercaseRun {
  uint32_t first;
  uint32_t last;
  uint32_t step;
  int32_t distance;
};

// Where the decompositions of a code point lie among the letters: the
// compatibility one at `begin`; the canonical one (of so many letters, 0: none)
// at the same place, or behind it.
struct DecompositionRow {
  uint32_t code_point;
  uint16_t begin;
  uint8_t canonical;
  uint8_t compatible;
  bool canonical_behind;
};

struct CompositionRow {  // sorted
  uint32_t first;
  uint32_t second;
  uint32_t composed;
};

extern const std::span<const HfRun> kHfRuns;
extern const std::span<const LowercaseRun> kLowercaseRuns;
extern const std::span<const char32_t> kDecompositionLetters;
extern const std::span<const DecompositionRow> kDecompositionRows;
extern const std::span<const CompositionRow> kCompositionRows;

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_TEXT_HF_TABLES_H_
