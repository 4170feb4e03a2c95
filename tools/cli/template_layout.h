// Which token of an encoding belongs to what: the template's specials, the
// first text, or the second.
#ifndef TRELLIS_TOOLS_CLI_TEMPLATE_LAYOUT_H_
#define TRELLIS_TOOLS_CLI_TEMPLATE_LAYOUT_H_

#include <cstddef>
#include <variant>
#include <vector>

#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis::cli {

inline const std::vector<TemplatePiece>& TemplateOf(const TokenizerSpec& spec, const Input& input) {
  return input.pair.has_value() ? spec.post_processor.pair : spec.post_processor.single;
}

// Special tokens that the template adds to this input.
inline size_t SpecialCount(const TokenizerSpec& spec, const Input& input) {
  size_t count = 0;
  for (const TemplatePiece& piece : TemplateOf(spec, input)) {
    if (const auto* special = std::get_if<TemplateSpecial>(&piece)) count += special->ids.size();
  }
  return count;
}

// Tokens that each text of a pair keeps.
struct PairLengths {
  size_t first;
  size_t second;
};

// What truncation leaves of texts with so many tokens (tokenizers 0.22.2,
// truncate_encodings): the shorter text keeps what it has as far as it goes.
inline PairLengths KeptLengths(PairLengths tokens, const EncodeOptions& options, size_t specials) {
  if (options.truncate == Truncate::kNever) return tokens;
  const size_t room = options.max_length - specials;
  const size_t total = tokens.first + tokens.second;
  if (total <= room) return tokens;
  if (room == 0) return {0, 0};
  switch (options.truncate) {
    case Truncate::kOnlyFirst:
      return {tokens.first - (total - room), tokens.second};
    case Truncate::kOnlySecond:
      return {tokens.first, tokens.second - (total - room)};
    default:
      break;
  }
  const bool second_is_shorter = tokens.first > tokens.second;
  const size_t shorter = second_is_shorter ? tokens.second : tokens.first;
  size_t kept_short = shorter, kept_long = room > shorter ? room - shorter : 0;
  if (kept_short > kept_long) {
    kept_short = room / 2;
    kept_long = kept_short + room % 2;
  }
  return second_is_shorter ? PairLengths{kept_long, kept_short} : PairLengths{kept_short, kept_long};
}

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_TEMPLATE_LAYOUT_H_
