#include "tools/cli/encode_flags.h"

#include <string>

namespace trellis::cli {

EncodeOptions EncodeFlags::Options() const {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  options.match_special_tokens = match_special_tokens;
  options.encode_special_tokens = encode_special_tokens;
  options.truncation_side = truncation_side;
  if (max_length.has_value()) {
    options.max_length = *max_length;
    options.truncate = truncate.value_or(Truncate::kLongestFirst);
  }
  return options;
}

std::optional<Truncate> TruncateFromName(std::string_view name) {
  if (name == "longest_first") return Truncate::kLongestFirst;
  if (name == "only_first") return Truncate::kOnlyFirst;
  if (name == "only_second") return Truncate::kOnlySecond;
  return std::nullopt;
}

std::optional<Side> SideFromName(std::string_view name) {
  if (name == "left") return Side::kLeft;
  if (name == "right") return Side::kRight;
  return std::nullopt;
}

void AddEncodeFlags(CLI::App& command, EncodeFlags& flags) {
  command.add_flag_callback(
      "--no-special-tokens", [&flags] { flags.add_special_tokens = false; },
      "leave the template's special tokens out");
  command.add_flag_callback(
      "--no-match-special-tokens", [&flags] { flags.match_special_tokens = false; },
      "the shield for untrusted text: no special id comes out of text, however it is spelled");
  command.add_flag_callback(
      "--encode-special-tokens", [&flags] { flags.encode_special_tokens = true; },
      "do not look for special tokens in text, as tokenizers' encode_special_tokens (no shield: pieces with the same "
      "spelling stay)");
  command.add_option("--max-length", flags.max_length, "cut to so many tokens, specials included")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option_function<std::string>(
          "--truncation", [&flags](const std::string& name) { flags.truncate = TruncateFromName(name); },
          "what to cut: longest_first (default), only_first, only_second")
      ->check(CLI::IsMember({"longest_first", "only_first", "only_second"}));
  command
      .add_option_function<std::string>(
          "--truncation-side",
          [&flags](const std::string& name) { flags.truncation_side = *SideFromName(name); },
          "the side that loses tokens: right (default) or left")
      ->check(CLI::IsMember({"left", "right"}));
}

}  // namespace trellis::cli
