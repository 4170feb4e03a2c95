// Columns of text for people, aligned by what a terminal shows.
#ifndef TRELLIS_TOOLS_CLI_TABLE_H_
#define TRELLIS_TOOLS_CLI_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace trellis::cli {

// Blanks, control characters and malformed bytes made visible: `"a\u00a0b\xff"`.
std::string Quoted(std::string_view text);

class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Header and rows, each line indented and ended by '\n'.
  void Print(std::string& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_TABLE_H_
