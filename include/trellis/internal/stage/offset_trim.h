// OffsetTrim: offsets without the blanks at a token's ends (tokenizers 0.22.2,
// pre_tokenizers/byte_level.rs, process_offsets).
//
// The reference moves a range by as many units as there are blanks, whatever the
// units are; here it moves by characters, which gives the reference's code point
// offsets, and as bytes never ends inside a character.
#ifndef TRELLIS_INTERNAL_STAGE_OFFSET_TRIM_H_
#define TRELLIS_INTERNAL_STAGE_OFFSET_TRIM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trellis/encoding.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis::internal {

// White_Space, or what byte-level vocabularies write for a blank.
inline bool IsTrimmed(uint32_t code_point) { return code_point == 0x120 || IsWhitespace(code_point); }

struct TrimmedEnds {
  size_t leading = 0;   // characters
  size_t trailing = 0;
};

inline TrimmedEnds FindTrimmedEnds(std::string_view token) {
  TrimmedEnds ends;
  bool leading = true;
  while (!token.empty()) {
    const Decoded d = DecodeUtf8(token);
    token.remove_prefix(d.length);
    const bool trimmed = IsTrimmed(d.code_point);
    leading = leading && trimmed;
    ends.leading += leading;
    ends.trailing = trimmed ? ends.trailing + 1 : 0;
  }
  return ends;
}

// `token` is the token's string, `offset` its range in `text`; `is_first`: it is
// the first of the text's tokens.
inline Offset TrimOffset(TrimOffsets trim, std::string_view text, std::string_view token, bool is_first, Offset offset) {
  const TrimmedEnds ends = FindTrimmedEnds(token);
  size_t leading = ends.leading;
  // One blank at the start is taken for the one that was put in front.
  if (trim == TrimOffsets::kKeepPrefixSpace && leading == 1 && (is_first || offset.begin == 0)) leading = 0;
  for (; leading > 0 && offset.begin < offset.end; --leading) {
    offset.begin += DecodeUtf8(text.substr(offset.begin, offset.end - offset.begin)).length;
  }
  if (ends.trailing == 0) return offset;
  const auto skip = [&](uint32_t at) { return at + DecodeUtf8(text.substr(at, offset.end - at)).length; };
  size_t characters = 0;
  for (uint32_t at = offset.begin; at < offset.end; at = skip(at)) ++characters;
  uint32_t end = offset.begin;
  for (size_t kept = characters - std::min(characters, ends.trailing); kept > 0; --kept) end = skip(end);
  offset.end = end;
  return offset;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_OFFSET_TRIM_H_
