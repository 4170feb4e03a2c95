// One bucket as a graph and kernel by kernel: whether both come to the same bits, and what each costs.
#ifndef TRELLIS_BENCH_SERVE_GPU_BUCKET_CHECK_H_
#define TRELLIS_BENCH_SERVE_GPU_BUCKET_CHECK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/device_thread.h"

namespace trellis::engine::cuda {

struct BucketCheck {
  Bucket bucket;
  bool captured = false;  // a graph was made, and launched again
  bool equal =
      false;  // the graph's answers, for other rows than it was captured with too, are the eager ones
  size_t graph_bytes = 0;
  // Medians of `runs` batches of one vector a row: until the last launch has returned, and until the answer
  // is there.
  int runs = 0;
  std::chrono::nanoseconds eager_launch{}, eager{}, graph_launch{}, graph{};
  // Of the launch that captured, which also makes the graph.
  std::chrono::nanoseconds capture{};
};

// Rows of all lengths that make `tokens` together, and ask for all that the model has; every number in the
// answers counts. Nothing else may be in flight, and the bucket's graph may not be there yet.
absl::StatusOr<BucketCheck> CheckBucket(DeviceThread& thread, int32_t rows, int32_t tokens, int runs);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_BENCH_SERVE_GPU_BUCKET_CHECK_H_
