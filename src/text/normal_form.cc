#include "trellis/internal/text/normal_form.h"

#include <algorithm>
#include <utility>

#include "src/text/hf_tables.h"

namespace trellis::internal {
namespace {

// Hangul syllables are computed (Unicode, section 3.12).
constexpr uint32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;
constexpr uint32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr uint32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

std::vector<uint16_t> Rows() {
  std::vector<uint16_t> rows(kMaxCodePoint + 1, 0);
  uint16_t number = 0;
  for (const DecompositionRow& row : kDecompositionRows) rows[row.code_point] = ++number;
  return rows;
}

// `number` is unsigned, so what is below the first of `count` is not among them.
bool Among(uint32_t number, uint32_t count) { return number < count; }

}  // namespace

NormalForms::NormalForms() : rows_(Rows()) {}

const NormalForms& NormalForms::Get() {
  static const NormalForms forms;
  return forms;
}

size_t NormalForms::Decompose(uint32_t c, DecompositionKind kind, char32_t letters[kMaxLetters]) const {
  if (const uint32_t syllable = c - kSyllables; Among(syllable, kSyllableCount)) {
    letters[0] = kLeading + syllable / (kVowelCount * kTrailingCount);
    letters[1] = kVowels + syllable / kTrailingCount % kVowelCount;
    const uint32_t trailing = syllable % kTrailingCount;
    letters[2] = kTrailing + trailing;
    return trailing == 0 ? 2 : 3;
  }
  letters[0] = c;
  const uint16_t number = rows_[c];
  if (number == 0) return 1;
  const DecompositionRow& row = kDecompositionRows[number - 1u];
  const bool canonical = kind == DecompositionKind::kCanonical;
  if (canonical && row.canonical == 0) return 1;
  const size_t begin = row.begin + (canonical && row.canonical_behind ? size_t{row.compatible} : 0);
  const size_t size = canonical ? row.canonical : row.compatible;
  std::copy_n(kDecompositionLetters.begin() + static_cast<std::ptrdiff_t>(begin), size, letters);
  return size;
}

uint32_t NormalForms::Compose(uint32_t first, uint32_t second) const {
  if (second < 0x300) return 0;  // nothing composes with less
  if (Among(first - kLeading, kLeadingCount) && Among(second - kVowels, kVowelCount)) {
    return kSyllables + ((first - kLeading) * kVowelCount + second - kVowels) * kTrailingCount;
  }
  if (Among(first - kSyllables, kSyllableCount) && (first - kSyllables) % kTrailingCount == 0 &&
      Among(second - kTrailing - 1, kTrailingCount - 1)) {
    return first + second - kTrailing;
  }
  const auto found = std::lower_bound(
      kCompositionRows.begin(), kCompositionRows.end(), std::pair(first, second),
      [](const CompositionRow& row, const auto& pair) { return std::pair(row.first, row.second) < pair; });
  return found != kCompositionRows.end() && found->first == first && found->second == second ? found->composed : 0;
}

}  // namespace trellis::internal
