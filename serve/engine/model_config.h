// An encoder described by its parts, as data: what config.json (and the pooling files beside it) come to. A family is a
// row of choices here, not a class; engines switch on the parts, never on a family's name.
#ifndef TRELLIS_SERVE_ENGINE_MODEL_CONFIG_H_
#define TRELLIS_SERVE_ENGINE_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/engine.h"

namespace trellis::engine {

enum class Activation : uint8_t { kGelu, kGeluTanh, kRelu };  // kGelu: the exact one, by erf
// Whose position a token has: its index in the row plus an offset (bert: 0; roberta: pad_token_id + 1). Roberta counts
// only tokens that are no padding, and padding inside a text has the padding's own position, as in transformers'
// create_position_ids_from_input_ids.
enum class Positions : uint8_t { kIndex, kSkipPadding };
enum class Head : uint8_t {
  kNone,
  kClassifyTanhPooler,  // bert: classifier(tanh(pooler.dense(cls)))
  kClassifyDense,       // roberta: classifier.out_proj(tanh(classifier.dense(cls)))
};

struct DenseLayer {  // of sentence-transformers, after pooling: x W^T + b, then the activation
  std::string folder;  // where its own weights are, below the model's
  int32_t in = 0;
  int32_t out = 0;
  enum class After : uint8_t { kIdentity, kTanh } after = After::kIdentity;
};

struct ModelConfig {
  std::string name;         // for metrics and replies
  std::string prefix;       // of the encoder's tensors: "", "bert." or "roberta."
  int32_t hidden = 0;
  int32_t layers = 0;
  int32_t heads = 0;
  int32_t intermediate = 0;
  int32_t vocab_size = 0;
  int32_t type_vocab_size = 0;
  int32_t max_positions = 0;     // rows of the position table
  int32_t position_offset = 0;   // of a row's first token
  int32_t pad_token_id = 0;
  int32_t max_row_tokens = 0;    // what positions allow, and what the model's folder says
  Positions positions = Positions::kIndex;
  Activation activation = Activation::kGelu;
  double layer_norm_eps = 1e-12;
  Pooling pooling = Pooling::kMean;  // never kModel
  Normalize normalize = Normalize::kNone;  // the folder's own last step; requests may ask for more
  std::vector<DenseLayer> dense;
  Head head = Head::kNone;
  int32_t labels = 0;
  bool sparse_head = false;   // bge-m3: sparse_linear.safetensors beside the model
  bool colbert_head = false;  // bge-m3: colbert_linear.safetensors
};

// From a model's folder: config.json, and modules.json with what it names when that is there. Unimplemented: a family or
// a part that no engine has, by name. InvalidArgument: a key that is missing or odd; the message names file and key.
absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& folder);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_MODEL_CONFIG_H_
