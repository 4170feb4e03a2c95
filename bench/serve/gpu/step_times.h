// What a client of the engine waits for, and how much it gets, on rows that are always the same.
#ifndef TRELLIS_BENCH_SERVE_GPU_STEP_TIMES_H_
#define TRELLIS_BENCH_SERVE_GPU_STEP_TIMES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/serve/batch_commands.h"
#include "serve/engine/cuda/device_thread.h"

namespace trellis::engine::cuda {

struct HowLong {
  double seconds = 1;  // until so much has been timed,
  int least_runs = 3;  // and at least so often
};

struct Latency {
  int runs = 0;
  double least = 0, p50 = 0, p90 = 0, p99 = 0;  // seconds
};
// All steps of the rows posted one behind the other, as many in flight as may be, until the last value can
// be read; then the same again. Four times before, for kernels, products and graphs.
absl::StatusOr<Latency> TimeLatency(DeviceThread& thread, const Rows& rows, const HowLong& how_long);

struct Throughput {
  int64_t rows = 0, tokens = 0;
  double seconds = 0;
};
// The same without waiting in between: the GPU always has the next step.
absl::StatusOr<Throughput> TimeThroughput(DeviceThread& thread, const Rows& rows, const HowLong& how_long);

// The nearest rank: the smallest time that `share` of all are not above. `sorted` is not empty.
double Percentile(const std::vector<double>& sorted, double share);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_BENCH_SERVE_GPU_STEP_TIMES_H_
