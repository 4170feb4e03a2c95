#include "serve/gateway/utf8_text.h"

#include "trellis/internal/text/utf8.h"

namespace trellis::gateway {

size_t Utf8SequenceBytes(std::string_view text) {
  const internal::Decoded decoded = internal::DecodeUtf8(text);
  return decoded.well_formed ? decoded.length : 0;
}

std::string Utf8Text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = Utf8SequenceBytes(bytes.substr(i));
    length == 0 ? text.append(kReplacementText) : text.append(bytes, i, length);
    i += length == 0 ? 1 : length;
  }
  return text;
}

}  // namespace trellis::gateway
