#include "serve/gateway/json_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "serve/gateway/utf8_text.h"
#include "trellis/internal/text/json_escape.h"

namespace trellis::gateway {
JsonText& JsonText::String(std::string_view text) {
  out_ += '"';
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = Utf8SequenceBytes(text.substr(i));
    if (bytes == 0) {
      out_ += kReplacementText;
      ++i;
      continue;
    }
    const char c = text[i];
    if (bytes == 1 && (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f)) {
      internal::AppendJsonEscape(static_cast<unsigned char>(c), out_);
    } else {
      out_.append(text, i, bytes);
    }
    i += bytes;
  }
  out_ += '"';
  return *this;
}

JsonText& JsonText::Integer(int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out_.append(digits, end.ptr);
  return *this;
}

JsonText& JsonText::Float(float value) {
  if (value == 0 && std::signbit(value))
    return Raw("-0.0");  // "-0" is an integer to readers, and has no sign
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out_.append(digits, end.ptr);
  return *this;
}

JsonText& JsonText::Floats(std::span<const float> values) {
  out_ += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out_ += ',';
    Float(values[i]);
  }
  out_ += ']';
  return *this;
}

JsonText& JsonText::Base64(std::span<const float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  if constexpr (std::endian::native == std::endian::big) {
    for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      std::swap(bytes[i], bytes[i + 3]);
      std::swap(bytes[i + 1], bytes[i + 2]);
    }
  }
  std::string encoded;
  absl::Base64Escape(absl::string_view(bytes), &encoded);
  out_ += '"';
  out_ += encoded;
  out_ += '"';
  return *this;
}

}  // namespace trellis::gateway
