#include "tools/cli/json_writer.h"

#include <cmath>

#include "trellis/internal/text/json_escape.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::cli {

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x20 || first == '"' || first == '\\') {
      internal::AppendJsonEscape(first, out);
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
