// Rows that nobody sent: for what is run before the first request. The same every time.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_MADE_BATCH_H_
#define TRELLIS_SERVE_ENGINE_CUDA_MADE_BATCH_H_

#include <cstdint>
#include <vector>

#include "serve/engine/cuda/bucket.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

struct MadeBatch {
  std::vector<int32_t> ids, cu_seqlens{0};
  std::vector<RowTask> rows;

  // Ids from all over the vocabulary but its beginning, where the special tokens are; other ones for another
  // `seed`.
  void Add(int32_t tokens, const RowTask& task, const EngineLimits& limits, uint64_t seed);
  PackedBatch view() const { return {ids, {}, cu_seqlens, rows}; }
};

// What the model has first of: one vector a row, if it has that.
RowTask FirstTask(const EngineLimits& limits);

// So many rows and tokens, rows as long as each other but for one token.
MadeBatch BatchOfSize(Bucket size, const EngineLimits& limits);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_MADE_BATCH_H_
