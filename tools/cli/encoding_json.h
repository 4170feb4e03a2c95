// One row of tokens as the JSON object that `encode --json` prints.
#ifndef TRELLIS_TOOLS_CLI_ENCODING_JSON_H_
#define TRELLIS_TOOLS_CLI_ENCODING_JSON_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "trellis/tokenizer.h"

namespace trellis::cli {

struct JsonRow {
  std::span<const TokenId> ids;
  std::span<const Offset> offsets;
  std::span<const uint8_t> type_ids;
  std::span<const uint8_t> special_tokens_mask;
  std::optional<std::span<const uint8_t>> attention_mask = std::nullopt;  // nullopt: not printed
};

// The object but for its closing brace.
void AppendRow(const Vocab& vocab, const JsonRow& row, std::string& out);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_ENCODING_JSON_H_
