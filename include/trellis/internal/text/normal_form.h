// NormalForms: decompositions and compositions of single code points, as
// tokenizers 0.22.2 has them (Unicode 9.0; what came later stays as it is).
#ifndef TRELLIS_INTERNAL_TEXT_NORMAL_FORM_H_
#define TRELLIS_INTERNAL_TEXT_NORMAL_FORM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trellis/internal/text/paged_table.h"

namespace trellis::internal {

// Of NFC and NFD, or of NFKC and NFKD.
enum class DecompositionKind : uint8_t { kCanonical, kCompatible };

class NormalForms {
 public:
  // Built at the first use, then shared.
  static const NormalForms& Get();

  // The most letters of a decomposition.
  static constexpr size_t kMaxLetters = 18;

  // Writes the whole decomposition of `c` and returns its length, 1 for `c`
  // itself.
  size_t Decompose(uint32_t c, DecompositionKind kind, char32_t letters[kMaxLetters]) const;
  // The character that the two make; 0: none.
  uint32_t Compose(uint32_t first, uint32_t second) const;

  // Growth by a decomposition, at most: bytes a byte, characters a character.
  static constexpr size_t MaxBytes(DecompositionKind kind) { return kind == DecompositionKind::kCanonical ? 3 : 11; }
  static constexpr size_t MaxCharacters(DecompositionKind kind) {
    return kind == DecompositionKind::kCanonical ? 4 : kMaxLetters;
  }

 private:
  NormalForms();
  PagedTable<uint16_t> rows_;  // one more than the row of a decomposition; 0: none
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_NORMAL_FORM_H_
