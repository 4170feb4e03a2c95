// One input line of --jsonl: a JSON string, or an object
// {"text" | "text_base64", "pair"?, "add_special_tokens"?, "max_length"?,
//  "truncation"?, "truncation_side"?}.
#ifndef TRELLIS_TOOLS_CLI_JSONL_INPUT_H_
#define TRELLIS_TOOLS_CLI_JSONL_INPUT_H_

#include <simdjson.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/cli/encode_flags.h"
#include "trellis/tokenizer.h"

namespace trellis::cli {

struct TextRequest {
  Input input;
  EncodeOptions options;
};

class JsonlInput {
 public:
  // What a line does not say is as in `defaults`.
  explicit JsonlInput(const EncodeFlags& defaults) : defaults_(defaults) {}

  // `line` must be followed by simdjson's padding. The request's texts live
  // until the next call. Errors name the field and what was expected.
  absl::Status Parse(std::string_view line, TextRequest& request);

 private:
  absl::Status ParseObject(const simdjson::dom::object& object, TextRequest& request);

  const EncodeFlags defaults_;
  simdjson::dom::parser parser_;
  std::string from_base64_;
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_JSONL_INPUT_H_
