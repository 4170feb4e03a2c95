#include "serve/gateway/utf8_text.h"

namespace trellis::gateway {

size_t Utf8SequenceBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  size_t bytes = 0;
  unsigned char least = 0x80, most = 0xbf;  // of the second byte
  if (lead >= 0xc2 && lead <= 0xdf) {
    bytes = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    bytes = 3;
    if (lead == 0xe0) least = 0xa0;  // no overlong ones
    if (lead == 0xed) most = 0x9f;   // no surrogates
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    bytes = 4;
    if (lead == 0xf0) least = 0x90;
    if (lead == 0xf4) most = 0x8f;
  }
  if (bytes == 0 || text.size() < bytes || byte(1) < least || byte(1) > most) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return bytes;
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
