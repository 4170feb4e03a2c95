// What a sentence-transformers folder says comes after the encoder: modules.json and the folders it names.
#ifndef TRELLIS_SERVE_ENGINE_POOLING_CONFIG_H_
#define TRELLIS_SERVE_ENGINE_POOLING_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/model_config.h"

namespace trellis::engine {

// Reads what follows the encoder into config.pooling, .dense and .normalize; config.hidden and
// config.head are already there (a model with a head needs no pooling). Without
// modules.json the pooling is what 1_Pooling says, and else the mean, which is what sentence-transformers
// does with a plain encoder. Unimplemented: a module or a mode that no engine has, by name.
absl::Status ReadPooling(const std::string& folder, ModelConfig& config);

// max_seq_length of sentence_bert_config.json (or of its sisters for other families); none: the folder does
// not say.
absl::StatusOr<std::optional<int32_t>> ReadSentenceLength(const std::string& folder);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_POOLING_CONFIG_H_
