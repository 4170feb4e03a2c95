// All that is found out about one model on the GPU, a line of JSON on stdout for each finding.
#ifndef TRELLIS_BENCH_SERVE_GPU_FINDINGS_H_
#define TRELLIS_BENCH_SERVE_GPU_FINDINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/serve/batch_commands.h"
#include "bench/serve/gpu/step_times.h"
#include "serve/engine/cuda/device_thread.h"

namespace trellis::engine::cuda {

struct BucketSize {
  int32_t rows = 0, tokens = 0;
};
// ROWSxTOKENS of each. InvalidArgument: another form, or two of one bucket, whose graph can be made only
// once.
absl::StatusOr<std::vector<BucketSize>> ReadBuckets(const std::vector<std::string>& names);

// Names are those of batches.
struct Wanted {
  std::string values_of, values_path;  // empty: no values
  std::vector<BucketSize> buckets;
  int bucket_runs = 20;
  std::vector<std::string> latency, throughput;
  HowLong how_long;
  double budget = 600;  // seconds, after which nothing more is begun but the values
};

// What is left out for want of time is said in a line, too. The error is of a step that failed, or says at
// the end which findings are not what they have to be.
absl::Status FindOut(DeviceThread& thread, const std::map<std::string, Rows>& batches, const Wanted& wanted);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_BENCH_SERVE_GPU_FINDINGS_H_
