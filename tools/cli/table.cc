#include "tools/cli/table.h"

#include <wchar.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "trellis/internal/text/utf8.h"

namespace trellis::cli {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kBetween = "  ";

// wcwidth knows only what the process's locale knows, main sets a UTF-8 one.
size_t ShownWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const internal::Decoded decoded = internal::DecodeUtf8(text);
    const int columns = wcwidth(static_cast<wchar_t>(decoded.code_point));
    width += columns < 0 ? 1 : static_cast<size_t>(columns);
    text.remove_prefix(decoded.length);
  }
  return width;
}

// Characters that a reader of the table could not see or would mistake.
bool NeedsEscape(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || c == 0x61C || c == 0xFEFF || c == 0xFFFD ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) ||
         (c != ' ' && internal::IsWhitespace(c));
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  char escape[16];
  while (!text.empty()) {
    const internal::Decoded decoded = internal::DecodeUtf8(text);
    if (!decoded.well_formed) {
      for (uint32_t i = 0; i < decoded.length; ++i) {
        std::snprintf(escape, sizeof(escape), "\\x%02x", static_cast<unsigned char>(text[i]));
        out += escape;
      }
    } else if (decoded.code_point == '"' || decoded.code_point == '\\') {
      out += '\\';
      out += text[0];
    } else if (decoded.code_point == '\n') {
      out += "\\n";
    } else if (decoded.code_point == '\t') {
      out += "\\t";
    } else if (NeedsEscape(decoded.code_point)) {
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(decoded.code_point));
      out += escape;
    } else {
      out.append(text.data(), decoded.length);
    }
    text.remove_prefix(decoded.length);
  }
  out += '"';
  return out;
}

void Table::Print(std::string& out) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], ShownWidth(row[i]));
  }
  for (const auto& row : rows_) {
    if (row.empty()) continue;  // a table without a header
    out += kIndent;
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 == row.size()) break;
      out.append(widths[i] - ShownWidth(row[i]), ' ');
      out += kBetween;
    }
    out += '\n';
  }
}

}  // namespace trellis::cli
