// What the Hugging Face dialect makes of single code points: classes, scripts,
// categories and lowercase of tokenizers 0.22.2, which takes them from several
// versions of Unicode. Every value is measured (tools/make_hf_tables).
#ifndef TRELLIS_INTERNAL_TEXT_HF_PROPERTIES_H_
#define TRELLIS_INTERNAL_TEXT_HF_PROPERTIES_H_

#include <cstdint>
#include <vector>

#include "trellis/internal/text/paged_table.h"

namespace trellis::internal {

// General categories as \p{..} of the reference's regular expressions has them.
enum class GeneralCategory : uint8_t {
  kCn, kLu, kLl, kLt, kLm, kLo, kMn, kMc, kMe, kNd, kNl, kNo, kPc, kPd, kPs,
  kPe, kPi, kPf, kPo, kSm, kSc, kSk, kSo, kZs, kZl, kZp, kCc, kCf, kCo, kCs,
};

class HfProperties {
 public:
  // Built at the first use, in a few milliseconds; then shared.
  static const HfProperties& Get();

  // Punctuation, and BertPreTokenizer's.
  bool IsPunctuation(uint32_t c) const { return (entries_[c] & 0x01) != 0; }
  // Digits.
  bool IsNumeric(uint32_t c) const { return (entries_[c] & 0x02) != 0; }
  // What StripAccents takes away.
  bool IsMark(uint32_t c) const { return (entries_[c] & 0x04) != 0; }
  // What BertNormalizer's strip_accents takes away, once decomposed.
  bool IsNonspacingMark(uint32_t c) const { return (entries_[c] & 0x08) != 0; }
  // What BertNormalizer's clean_text takes away.
  bool IsBertControl(uint32_t c) const { return (entries_[c] & 0x10) != 0; }
  // \s and \w of regular expressions in Split and Replace.
  bool IsPatternSpace(uint32_t c) const { return (entries_[c] & 0x20) != 0; }
  bool IsPatternWord(uint32_t c) const { return (entries_[c] & 0x40) != 0; }
  // A number for each script of UnicodeScripts; 0: none, goes with any.
  uint8_t Script(uint32_t c) const { return static_cast<uint8_t>(entries_[c] >> 8); }
  GeneralCategory Category(uint32_t c) const { return static_cast<GeneralCategory>(entries_[c] >> 16 & 0xFF); }
  // Canonical_Combining_Class, for normal forms.
  uint8_t CombiningClass(uint32_t c) const { return static_cast<uint8_t>(entries_[c] >> 24); }

  // The first character of the lowercase; only U+0130 has a second, U+0307.
  uint32_t Lowercase(uint32_t c) const { return static_cast<uint32_t>(static_cast<int32_t>(c) + lowercase_[c]); }

 private:
  HfProperties();
  PagedTable<uint32_t> entries_;
  PagedTable<int32_t> lowercase_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_HF_PROPERTIES_H_
