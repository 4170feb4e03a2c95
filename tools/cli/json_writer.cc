#include "tools/cli/json_writer.h"

#include <cmath>

#include "trellis/internal/text/utf8.h"

namespace trellis::cli {
namespace {

void AppendEscaped(unsigned char c, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x20 || first == '"' || first == '\\') {
      AppendEscaped(first, out);
      text.remove_prefix(1);
      continue;
    }
    const internal::Decoded decoded = internal::DecodeUtf8(text);
    if (decoded.well_formed) {
      out.append(text.data(), decoded.length);
    } else {
      out += "\xEF\xBF\xBD";
    }
    text.remove_prefix(decoded.length);
  }
  out += '"';
}

namespace {

template <typename Float>
void AppendShortest(Float value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

}  // namespace

void AppendJsonNumber(double value, std::string& out) { AppendShortest(value, out); }
void AppendJsonFloat(float value, std::string& out) { AppendShortest(value, out); }

}  // namespace trellis::cli
