// A model on this machine's processor: rows of tokens in, what each row asks for out. It blocks; cpu_engine.h
// has the thread that calls it.
#ifndef TRELLIS_SERVE_ENGINE_CPU_MODEL_H_
#define TRELLIS_SERVE_ENGINE_CPU_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/crew.h"
#include "serve/engine/cpu/encoder.h"
#include "serve/engine/cpu/heads.h"
#include "serve/engine/cpu/matmul.h"
#include "serve/engine/engine.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cpu {

class Model {
 public:
  // Word vectors are read from `weights` as they are needed; the rest is converted here.
  static absl::StatusOr<std::unique_ptr<Model>> Create(const ModelConfig& config, Weights weights,
                                                       const HeadWeights& beside, Precision precision,
                                                       int threads);

  const EngineLimits& limits() const { return limits_; }
  // Always from the same thread. May throw (memory, oneDNN).
  std::vector<RowOutput> Run(const PackedBatch& batch);
  int products_made() const { return matmuls_.made(); }

 private:
  Model(Weights weights, int threads);
  void RunGroup(const PackedBatch& batch, size_t first, size_t last, std::vector<RowOutput>& out);

  const Weights weights_;
  Matmuls matmuls_;
  Crew crew_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Heads> heads_;
  EngineLimits limits_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_MODEL_H_
