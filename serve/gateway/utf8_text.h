// Any bytes as text that every client can read.
#ifndef TRELLIS_SERVE_GATEWAY_UTF8_TEXT_H_
#define TRELLIS_SERVE_GATEWAY_UTF8_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace trellis::gateway {

inline constexpr std::string_view kReplacementText = "\xef\xbf\xbd";  // U+FFFD

// Bytes of the well-formed sequence at the start of `text`, which is not empty; 0: there is none.
size_t Utf8SequenceBytes(std::string_view text);

// Bytes that are no UTF-8 become U+FFFD.
std::string Utf8Text(std::string_view bytes);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_UTF8_TEXT_H_
