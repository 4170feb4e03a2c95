// How a byte that JSON does not take as it is stands in a string of it (RFC 8259, section 7).
#ifndef TRELLIS_INTERNAL_TEXT_JSON_ESCAPE_H_
#define TRELLIS_INTERNAL_TEXT_JSON_ESCAPE_H_

#include <string>

namespace trellis::internal {

// `c` is ASCII.
inline void AppendJsonEscape(unsigned char c, std::string& out) {
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

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_JSON_ESCAPE_H_
