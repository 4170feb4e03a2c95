// What a model wants to be put in front of a text, by the names that its folder gives
// (config_sentence_transformers.json).
#ifndef TRELLIS_SERVE_MODEL_PROMPTS_H_
#define TRELLIS_SERVE_MODEL_PROMPTS_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace trellis::model {

struct Prompts {
  std::map<std::string, std::string, std::less<>> by_name;
  std::string default_name;  // empty: a text goes without a prompt unless one is asked for

  // NotFound names the prompts that there are.
  absl::StatusOr<std::string_view> Named(std::string_view name) const;
  // Of a text that asks for none.
  std::string_view Default() const;
};

// None when the folder has no such file.
absl::StatusOr<Prompts> ReadPrompts(const std::string& folder);

}  // namespace trellis::model

#endif  // TRELLIS_SERVE_MODEL_PROMPTS_H_
