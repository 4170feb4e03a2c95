// Two characters as UTF-8 that SentencePiece's stages write.
#ifndef TRELLIS_INTERNAL_TEXT_META_SPACE_H_
#define TRELLIS_INTERNAL_TEXT_META_SPACE_H_

#include <string_view>

namespace trellis::internal {

// U+2581, the visible stand-in for a blank.
inline constexpr std::string_view kMetaSpace = "\xE2\x96\x81";
// U+FFFD.
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_META_SPACE_H_
