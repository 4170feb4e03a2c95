// Properties of code points, as the reference has them: Unicode 16.0.
//
// One byte a code point in a two-stage table (src/text/grapheme_tables.cc,
// generated), so a lookup is two loads. Total: what is no Unicode scalar value
// (a surrogate, above U+10FFFF) has no property.
#ifndef TRELLIS_INTERNAL_TEXT_UNICODE_TABLES_H_
#define TRELLIS_INTERNAL_TEXT_UNICODE_TABLES_H_

#include <cstdint>

namespace trellis::internal {

// Grapheme_Cluster_Break, with Extended_Pictographic as one more value: no code
// point has both.
enum class GraphemeBreak : uint8_t {
  kOther,
  kControl,
  kCr,
  kLf,
  kExtend,
  kZwj,
  kSpacingMark,
  kPrepend,
  kL,
  kV,
  kT,
  kLv,
  kLvt,
  kRegionalIndicator,
  kExtendedPictographic,
};

// Indic_Conjunct_Break.
enum class IndicConjunct : uint8_t { kNone, kConsonant, kExtend, kLinker };

inline constexpr uint32_t kUnicodeBlock = 128;
inline constexpr uint32_t kUnicodeBlockCount = 0x110000 / kUnicodeBlock;
extern const uint8_t kUnicodeBlockIndex[kUnicodeBlockCount];
extern const uint8_t kUnicodeProperties[];

// Bits of UnicodeProperties.
inline constexpr uint8_t kGraphemeBreakMask = 0x0F;
inline constexpr int kIndicConjunctShift = 4;
inline constexpr uint8_t kIndicConjunctMask = 0x30;
inline constexpr uint8_t kWordCharacterBit = 0x40;

inline uint8_t UnicodeProperties(uint32_t code_point) {
  const uint32_t block = code_point / kUnicodeBlock;
  if (block >= kUnicodeBlockCount) return 0;
  return kUnicodeProperties[kUnicodeBlockIndex[block] * kUnicodeBlock + code_point % kUnicodeBlock];
}

inline GraphemeBreak GraphemeBreakOf(uint32_t code_point) {
  return static_cast<GraphemeBreak>(UnicodeProperties(code_point) & kGraphemeBreakMask);
}

inline IndicConjunct IndicConjunctOf(uint32_t code_point) {
  return static_cast<IndicConjunct>((UnicodeProperties(code_point) & kIndicConjunctMask) >>
                                    kIndicConjunctShift);
}

// `\w` of the reference's regular expressions: Alphabetic, Mark, Decimal_Number,
// Connector_Punctuation and Join_Control. Decides where a single_word added
// token may stand.
inline bool IsWordCharacter(uint32_t code_point) {
  return (UnicodeProperties(code_point) & kWordCharacterBit) != 0;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_UNICODE_TABLES_H_
