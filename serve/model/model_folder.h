// A model's folder, read once: what the tokenizing side needs, and what the engine needs. Weights are not
// read here, so that a gateway whose engine is elsewhere does with the tokenizer and the configs.
#ifndef TRELLIS_SERVE_MODEL_MODEL_FOLDER_H_
#define TRELLIS_SERVE_MODEL_MODEL_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/model_config.h"
#include "serve/model/prompts.h"
#include "serve/model/tokenizer_settings.h"
#include "trellis/tokenizer.h"

namespace trellis::model {

struct ModelFolder {
  Tokenizer tokenizer;
  Prompts prompts;
  // The most tokens of a row, specials and prompt included: the least of what positions allow, what
  // sentence_bert_config.json says, and, where that is silent, what tokenizer_config.json says.
  int32_t max_tokens = 0;
  TypeIds type_ids = TypeIds::kZero;
  std::vector<std::string> labels;  // of a classifier, by number; a reranker has one
  engine::ModelConfig config;       // for the engine
};

// Errors name file and key. InvalidArgument too where two files contradict each other: a vocabulary with more
// ids than the model has, a reranker whose template does not separate query from document.
absl::StatusOr<ModelFolder> ReadModelFolder(const std::string& folder);

}  // namespace trellis::model

#endif  // TRELLIS_SERVE_MODEL_MODEL_FOLDER_H_
