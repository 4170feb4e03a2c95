// What tokenizer_config.json says beside the tokenizer itself. Padding and truncation that a folder has
// stored are not among it: rows are never padded, and the limit is the model's.
#ifndef TRELLIS_SERVE_MODEL_TOKENIZER_SETTINGS_H_
#define TRELLIS_SERVE_MODEL_TOKENIZER_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace trellis::model {

// Whether the model sees the template's type ids. Most tokenizers with Unigram keep them to themselves, and a
// model that knows two types was trained with 0 alone.
enum class TypeIds : uint8_t { kZero, kTemplate };

struct TokenizerSettings {
  std::optional<int32_t> max_length;
  TypeIds type_ids = TypeIds::kZero;
  std::string tokenizer_class;  // without a word in the folder: what the family's is called
};

// The class is the one in tokenizer_config.json, else in config.json, else the family's. Type ids are as
// model_input_names says, else as the class does it.
absl::StatusOr<TokenizerSettings> ReadTokenizerSettings(const std::string& folder);

}  // namespace trellis::model

#endif  // TRELLIS_SERVE_MODEL_TOKENIZER_SETTINGS_H_
