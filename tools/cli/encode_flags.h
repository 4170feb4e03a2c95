// The options of encode, count and explain that say how a text is encoded.
#ifndef TRELLIS_TOOLS_CLI_ENCODE_FLAGS_H_
#define TRELLIS_TOOLS_CLI_ENCODE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

#include "trellis/tokenizer.h"

namespace trellis::cli {

struct EncodeFlags {
  bool add_special_tokens = true;
  bool match_special_tokens = true;
  bool encode_special_tokens = false;
  std::optional<size_t> max_length;
  std::optional<Truncate> truncate;  // used when there is a max_length
  Side truncation_side = Side::kRight;

  // For the library: truncation is on exactly when there is a max_length.
  EncodeOptions Options() const;
};

// The names that the command line and JSON lines use; empty when unknown.
std::optional<Truncate> TruncateFromName(std::string_view name);
std::optional<Side> SideFromName(std::string_view name);
inline constexpr std::string_view kTruncateNames = "longest_first, only_first or only_second";
inline constexpr std::string_view kSideNames = "left or right";

void AddEncodeFlags(CLI::App& command, EncodeFlags& flags);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_ENCODE_FLAGS_H_
