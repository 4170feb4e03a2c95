#include "serve/engine/cuda/made_batch.h"

#include <algorithm>

namespace trellis::engine::cuda {
namespace {

constexpr int32_t kSpecialTokens = 4;  // of XLM-R; BERT's [CLS] and [SEP] do no harm

}  // namespace

void MadeBatch::Add(int32_t tokens, const RowTask& task, const EngineLimits& limits, uint64_t seed) {
  const int32_t first = std::min(kSpecialTokens, limits.vocab_size - 1);
  const auto others = static_cast<uint64_t>(limits.vocab_size - first);
  // Knuth's linear congruence: the high bits are as good as random.
  uint64_t state = seed * 2 + 1;
  for (int32_t i = 0; i < tokens; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(first + static_cast<int32_t>((state >> 33) % others));
  }
  cu_seqlens.push_back(static_cast<int32_t>(ids.size()));
  rows.push_back(task);
}

RowTask FirstTask(const EngineLimits& limits) {
  RowTask task;
  for (int i = kTasks - 1; i >= 0; --i) {
    if (limits.tasks[i]) task.task = static_cast<Task>(i);
  }
  return task;
}

MadeBatch BatchOfSize(Bucket size, const EngineLimits& limits) {
  MadeBatch batch;
  for (int32_t row = 0; row < size.rows; ++row) {
    const int32_t tokens = size.tokens / size.rows + (row < size.tokens % size.rows ? 1 : 0);
    batch.Add(tokens, FirstTask(limits), limits, static_cast<uint64_t>(row));
  }
  return batch;
}

}  // namespace trellis::engine::cuda
