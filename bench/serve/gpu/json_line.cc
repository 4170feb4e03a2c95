#include "bench/serve/gpu/json_line.h"

#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace trellis::engine {

JsonLine& JsonLine::Raw(const char* key, const std::string& json) {
  absl::StrAppend(&line_, line_.empty() ? "{\"" : ", \"", key, "\": ", json);
  return *this;
}

JsonLine& JsonLine::Text(const char* key, const std::string& value) {
  std::string quoted = "\"";
  for (const char letter : value) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    if (static_cast<unsigned char>(letter) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", letter);
    } else {
      quoted += letter;
    }
  }
  return Raw(key, quoted + "\"");
}

JsonLine& JsonLine::Count(const char* key, int64_t value) { return Raw(key, absl::StrCat(value)); }

JsonLine& JsonLine::Number(const char* key, double value) {
  return Raw(key, std::isfinite(value) ? absl::StrFormat("%.6g", value) : "null");
}

JsonLine& JsonLine::Flag(const char* key, bool value) { return Raw(key, value ? "true" : "false"); }

void JsonLine::Print() {
  std::printf("%s}\n", line_.c_str());
  std::fflush(stdout);
}

}  // namespace trellis::engine
