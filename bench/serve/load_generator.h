// Sends requests when they are due, whether or not earlier ones were answered (an open loop), but never has
// more than so many unanswered: what is due then is skipped and counted.
#ifndef TRELLIS_BENCH_SERVE_LOAD_GENERATOR_H_
#define TRELLIS_BENCH_SERVE_LOAD_GENERATOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/serve/load_stream.h"
#include "bench/serve/load_tally.h"

namespace trellis::bench {

struct LoadOptions {
  std::string target = "127.0.0.1:50051";
  std::vector<LoadStream> streams;
  std::chrono::milliseconds duration{10'000};
  std::chrono::milliseconds grace{30'000};  // for answers after the last request; then they are cancelled
  int32_t max_outstanding = 10'000;
  int32_t channels = 2;
  int64_t max_requests = 0;  // 0: as many as the duration brings
  uint64_t seed = 1;
};

struct LoadResult {
  double seconds = 0;                               // from the first moment to the last answer
  int64_t late_us = 0;                              // by which the latest was sent after it was due
  std::vector<std::unique_ptr<LoadTally>> tallies;  // by stream
};

// Unavailable: nobody answers at the target.
absl::StatusOr<LoadResult> RunLoad(const LoadOptions& options);

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_SERVE_LOAD_GENERATOR_H_
