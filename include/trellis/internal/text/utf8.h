// UTF-8: one code point at a time, total on any bytes.
//
// Malformed input is handled here and nowhere else: each maximal ill-formed
// subsequence (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal
// Subparts"; Rust's String::from_utf8_lossy) decodes as one U+FFFD that is as
// long as the subsequence. Every decode of a non-empty range advances.
#ifndef TRELLIS_INTERNAL_TEXT_UTF8_H_
#define TRELLIS_INTERNAL_TEXT_UTF8_H_

#include <algorithm>
#include <bit>
#include <cstring>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trellis::internal {

inline constexpr uint32_t kReplacementCharacter = 0xFFFD;
inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;
inline constexpr size_t kMaxUtf8Bytes = 4;

struct Decoded {
  uint32_t code_point;
  uint32_t length;   // bytes of the source, 1..4
  bool well_formed;  // false: code_point is U+FFFD standing for `length` bytes
};

inline bool IsContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Decodes the code point at text[0]; text must not be empty.
inline Decoded DecodeUtf8(std::string_view text) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  const size_t n = text.size();
  const uint32_t b0 = p[0];
  if (b0 < 0x80) return {b0, 1, true};
  constexpr uint32_t kBad = kReplacementCharacter;
  if (b0 < 0xC2 || b0 > 0xF4) return {kBad, 1, false};
  // The second byte's range depends on the first: no overlong forms, no
  // surrogates, nothing above U+10FFFF (Unicode, table 3-7).
  uint32_t low = 0x80, high = 0xBF;
  if (b0 == 0xE0) low = 0xA0;
  if (b0 == 0xED) high = 0x9F;
  if (b0 == 0xF0) low = 0x90;
  if (b0 == 0xF4) high = 0x8F;
  if (n < 2 || p[1] < low || p[1] > high) return {kBad, 1, false};
  if (b0 < 0xE0) return {(b0 & 0x1F) << 6 | (p[1] & 0x3Fu), 2, true};
  if (n < 3 || !IsContinuation(p[2])) return {kBad, 2, false};
  if (b0 < 0xF0) return {(b0 & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu), 3, true};
  if (n < 4 || !IsContinuation(p[3])) return {kBad, 3, false};
  return {(b0 & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu), 4, true};
}

// For runs of characters of three bytes. Before this place of `text` four bytes can be read and three are before `end`; 0
// where ThreeByteCharacter cannot be used.
inline uint32_t ThreeByteEnd(std::string_view text, uint32_t end) {
  if (std::endian::native != std::endian::little || end < 3 || text.size() < 4) return 0;
  return static_cast<uint32_t>(std::min<size_t>(end - 2, text.size() - 3));
}

// The character of three bytes at `p`, of which four must be readable; 0: it is none, or not below the surrogates.
inline uint32_t ThreeByteCharacter(const char* p) {
  uint32_t four;
  std::memcpy(&four, p, sizeof four);
  if ((four & 0x00C0C0F0) != 0x008080E0) return 0;
  const uint32_t code_point = (four & 0x0F) << 12 | (four >> 2 & 0xFC0) | (four >> 16 & 0x3F);
  return code_point - 0x800 < 0xD800 - 0x800 ? code_point : 0;  // nor overlong
}

// Length in bytes of a code point's encoding.
inline uint32_t Utf8Length(uint32_t code_point) {
  return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

// Writes the encoding of a code point (at most kMaxUtf8Bytes) and returns its length.
inline uint32_t EncodeUtf8(uint32_t code_point, char* out) {
  if (code_point < 0x80) {
    out[0] = static_cast<char>(code_point);
    return 1;
  }
  if (code_point < 0x800) {
    out[0] = static_cast<char>(0xC0 | code_point >> 6);
    out[1] = static_cast<char>(0x80 | (code_point & 0x3F));
    return 2;
  }
  if (code_point < 0x10000) {
    out[0] = static_cast<char>(0xE0 | code_point >> 12);
    out[1] = static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
    out[2] = static_cast<char>(0x80 | (code_point & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | code_point >> 18);
  out[1] = static_cast<char>(0x80 | (code_point >> 12 & 0x3F));
  out[2] = static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
  out[3] = static_cast<char>(0x80 | (code_point & 0x3F));
  return 4;
}

// Length of the encoding that starts with this byte, in text known to be well formed.
inline uint32_t Utf8LengthFromLead(uint8_t lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

inline bool IsWellFormedUtf8(std::string_view text) {
  while (!text.empty()) {
    const Decoded d = DecodeUtf8(text);
    if (!d.well_formed) return false;
    text.remove_prefix(d.length);
  }
  return true;
}

// Unicode White_Space (Rust's char::is_whitespace).
inline bool IsWhitespace(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Length of the longest suffix of text[0..n) that is White_Space only. A lead
// byte always starts a new subsequence, so looking back is safe in malformed
// text too.
inline size_t TrailingWhitespace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < kMaxUtf8Bytes && IsContinuation(static_cast<uint8_t>(text[begin]))) --begin;
    const Decoded d = DecodeUtf8(text.substr(begin, end - begin));
    if (!d.well_formed || d.length != end - begin || !IsWhitespace(d.code_point)) break;
    end = begin;
  }
  return text.size() - end;
}

// Length of the longest prefix that is White_Space only.
inline size_t LeadingWhitespace(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Decoded d = DecodeUtf8(text.substr(at));
    if (!IsWhitespace(d.code_point)) break;
    at += d.length;
  }
  return at;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_UTF8_H_
