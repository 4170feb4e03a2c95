// How batches reached the GPU, for metrics.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_GRAPH_COUNTERS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_GRAPH_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "serve/engine/cuda/bucket.h"

namespace trellis::engine::cuda {

struct GraphCounters {
  int64_t eager = 0;       // batches launched kernel by kernel
  int64_t captures = 0;    // graphs made
  int64_t replays = 0;     // batches launched as a graph, the first time too
  int64_t failures = 0;    // graphs that could not be made or launched
  int64_t evictions = 0;   // graphs given up for others
  int64_t graphs = 0;      // there now
  size_t bytes = 0;        // of GPU memory that they take
  int32_t max_tokens = 0;  // of a batch that may be a graph: the inflection point, once that was measured
  std::map<Bucket, int64_t> replays_by_bucket;
};

// Written by the device's thread, read by any, also when the engine is gone: the last scrape may come late.
class GraphStatistics {
 public:
  GraphCounters Read() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }
  template <typename Change>
  void Count(const Change& change) {
    const std::lock_guard lock(mutex_);
    change(counters_);
  }

 private:
  mutable std::mutex mutex_;
  GraphCounters counters_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_GRAPH_COUNTERS_H_
