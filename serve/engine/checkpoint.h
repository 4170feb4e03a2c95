// A model's folder as an engine takes it: what the model is, its weights, and those of heads that lie beside
// them.
#ifndef TRELLIS_SERVE_ENGINE_CHECKPOINT_H_
#define TRELLIS_SERVE_ENGINE_CHECKPOINT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine {

// The weights that lie beside the encoder's, each in a folder or file of its own.
struct HeadWeights {
  std::vector<Weights> dense;  // as many as the config has
  std::optional<Weights> sparse, colbert;
};

struct Checkpoint {
  ModelConfig config;
  Weights weights;
  HeadWeights beside;
};

// Files are mapped; no tensor has been looked at yet. An error names the file.
absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& folder);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_CHECKPOINT_H_
