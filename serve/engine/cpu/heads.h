// What a row asks for, made from its last hidden states: pooled vectors, all vectors, token weights, logits.
// Always in float: next to the layers it costs nothing.
#ifndef TRELLIS_SERVE_ENGINE_CPU_HEADS_H_
#define TRELLIS_SERVE_ENGINE_CPU_HEADS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/checkpoint.h"
#include "serve/engine/cpu/dense.h"
#include "serve/engine/engine.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cpu {

struct RowOutput {
  std::vector<float> values;
  std::vector<int32_t> indices;
};

class Heads {
 public:
  // `matmuls` and `crew` outlive this.
  static absl::StatusOr<Heads> Create(const ModelConfig& config, const Weights& weights,
                                      const HeadWeights& beside, Matmuls& matmuls, Crew& crew);

  // What there is: the vectors' length, and which tasks.
  void Describe(EngineLimits& limits) const;

  // `states` is [tokens, hidden] of one row.
  RowOutput Run(const RowTask& task, std::span<const int32_t> ids, std::span<const float> states);

 private:
  explicit Heads(const ModelConfig& config) : config_(config) {}
  absl::Status ReadDense(const HeadWeights& beside, Matmuls& matmuls, Crew& crew);
  absl::Status ReadClassifier(const Weights& weights, Matmuls& matmuls, Crew& crew);
  int EmbedSize() const;
  int TokenSize() const;

  std::vector<float> Embed(const RowTask& task, std::span<const float> states);
  std::vector<float> EmbedAll(const RowTask& task, std::span<const float> states);
  std::vector<float> Classify(std::span<const float> states);
  RowOutput Sparse(std::span<const int32_t> ids, std::span<const float> states);

  ModelConfig config_;
  std::vector<Dense> dense_;
  std::optional<Dense> pooler_, classifier_, sparse_, colbert_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_HEADS_H_
