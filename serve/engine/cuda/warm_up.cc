#include "serve/engine/cuda/warm_up.h"

#include <utility>

namespace trellis::engine::cuda {

absl::StatusOr<Inflection> WarmUp(DeviceThread& thread, const PipelineTimes::Now& now) {
  Inflection found;
  const absl::Status status = thread.Call([&](Pipeline& pipeline) -> absl::Status {
    PipelineTimes times(pipeline, now);
    auto searched = FindInflection(times, pipeline.forward().limits().max_batch_tokens);
    if (!searched.ok()) return searched.status();
    pipeline.graphs().set_max_tokens(searched->tokens);
    found = *std::move(searched);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return found;
}

}  // namespace trellis::engine::cuda
