// What a batch of some size costs on the device that there is, kernel by kernel and as a graph.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_PIPELINE_TIMES_H_
#define TRELLIS_SERVE_ENGINE_CUDA_PIPELINE_TIMES_H_

#include <chrono>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/device_thread.h"
#include "serve/engine/cuda/inflection.h"
#include "serve/engine/cuda/pipeline.h"

namespace trellis::engine::cuda {

// On the device's thread, with nothing in flight. Batches are made up: rows as long as they may be, of the id
// 0.
class PipelineTimes : public ForwardTimes {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  // Of so many batches of a size the fastest counts, since what disturbs only ever adds.
  static constexpr int kTimes = 5;

  PipelineTimes(Pipeline& pipeline, Now now) : pipeline_(pipeline), now_(std::move(now)) {}
  absl::StatusOr<Duration> Eager(int32_t tokens) override { return Fastest(tokens, Pipeline::How::kEagerly); }
  // A size of which there can be no graph takes for ever.
  absl::StatusOr<Duration> Replay(int32_t tokens) override {
    return Fastest(tokens, Pipeline::How::kAsItComes);
  }

 private:
  absl::StatusOr<Duration> Fastest(int32_t tokens, Pipeline::How how);

  Pipeline& pipeline_;
  const Now now_;
};

// Finds the inflection point on the device's thread, and has graphs used up to it. Nothing else may be in
// flight. Unavailable: the device is dead.
absl::StatusOr<Inflection> MeasureInflection(DeviceThread& thread, const PipelineTimes::Now& now);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_PIPELINE_TIMES_H_
