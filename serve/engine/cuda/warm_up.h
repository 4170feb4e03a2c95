// What an engine does before its first request: finds up to which size graphs are worth it, runs what will be
// asked for, so that nothing is loaded, chosen or captured while somebody waits, and compares with the CPU
// engine.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_WARM_UP_H_
#define TRELLIS_SERVE_ENGINE_CUDA_WARM_UP_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/cuda/bucket.h"
#include "serve/engine/cuda/comparison.h"
#include "serve/engine/cuda/cuda_engine.h"
#include "serve/engine/cuda/inflection.h"
#include "serve/engine/cuda/pipeline_times.h"

namespace trellis::engine::cuda {

// One row, and 4, 16 and 64 of them, of each doubling length that batches and graphs take: most batches have
// these buckets or their neighbours'.
std::vector<Bucket> DefaultWarmUp(const EngineLimits& limits, int32_t most_tokens);

// InvalidArgument: a size that no batch can have, by name.
absl::Status CheckWarmUp(std::span<const Bucket> sizes, const EngineLimits& limits);

struct WarmUpPlan {
  std::vector<Bucket> sizes;  // of batches, by rows and tokens; none: DefaultWarmUp()
  std::vector<int32_t> lengths{std::begin(kComparedLengths), std::end(kComparedLengths)};
  // What to compare with. It is destroyed, and its memory given back, before WarmUp returns.
  std::function<absl::StatusOr<std::unique_ptr<Engine>>()> open_reference;
};

struct WarmUpReport {
  Inflection inflection;
  size_t sizes = 0;  // of batches that were run
  Difference worst;
};

// Blocking, with nothing else in flight. FailedPrecondition: the engine must not be served (comparison.h).
// Unavailable: the device is dead.
absl::StatusOr<WarmUpReport> WarmUp(CudaEngine& engine, const WarmUpPlan& plan,
                                    const PipelineTimes::Now& now);

// A line for the log.
std::string Describe(const WarmUpReport& report);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_WARM_UP_H_
