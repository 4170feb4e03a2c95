// The first layer: word, position and type vectors of each token, summed and normalized.
#ifndef TRELLIS_SERVE_ENGINE_CPU_EMBEDDINGS_H_
#define TRELLIS_SERVE_ENGINE_CPU_EMBEDDINGS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/row_kernels.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cpu {

struct LayerNormWeights {
  std::vector<float> gamma, beta;
};
absl::StatusOr<LayerNormWeights> ReadLayerNorm(const Weights& weights, const std::string& name, int size);

class Embeddings {
 public:
  // `weights` outlives this.
  static absl::StatusOr<Embeddings> Create(const ModelConfig& config, const Weights& weights);

  // out[t] for each token; `type_ids` may be empty: all 0.
  void Run(std::span<const int32_t> ids, std::span<const int32_t> type_ids,
           std::span<const int32_t> positions, std::span<float> out) const;

 private:
  int hidden_ = 0;
  float eps_ = 0;
  const Tensor* words_ = nullptr;
  const Tensor* positions_ = nullptr;
  std::vector<float> types_;  // [types, hidden]
  LayerNormWeights norm_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_EMBEDDINGS_H_
