// JSON values appended to a string. What comes out is always well-formed UTF-8:
// malformed bytes become U+FFFD, one for each maximal ill-formed subsequence.
#ifndef TRELLIS_TOOLS_CLI_JSON_WRITER_H_
#define TRELLIS_TOOLS_CLI_JSON_WRITER_H_

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace trellis::cli {

void AppendJsonString(std::string_view text, std::string& out);

// The shortest decimal that reads back as `value`; null when it is not finite,
// because JSON has no such numbers.
void AppendJsonNumber(double value, std::string& out);
// The same for float32, which needs fewer digits.
void AppendJsonFloat(float value, std::string& out);

template <std::integral T>
void AppendInteger(T value, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

// `[a,b,...]`, each element written by `append(element, out)`.
template <typename Range, typename Append>
void AppendJsonArray(const Range& range, std::string& out, Append append) {
  out += '[';
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += ',';
    first = false;
    append(element, out);
  }
  out += ']';
}

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_JSON_WRITER_H_
