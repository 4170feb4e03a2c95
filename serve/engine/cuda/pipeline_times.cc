#include "serve/engine/cuda/pipeline_times.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/device_error.h"

namespace trellis::engine::cuda {

absl::StatusOr<ForwardTimes::Duration> PipelineTimes::Fastest(int32_t tokens, Pipeline::How how) {
  const EngineLimits& limits = pipeline_.forward().limits();
  tokens = std::min(tokens, limits.max_batch_tokens);
  const std::vector<int32_t> ids(static_cast<size_t>(tokens));
  std::vector<int32_t> starts{0};
  while (starts.back() < tokens) starts.push_back(std::min(starts.back() + limits.max_row_tokens, tokens));
  RowTask task;
  for (int i = 0; i < kTasks; ++i) {
    if (limits.tasks[i]) task.task = static_cast<Task>(i);
  }
  const std::vector<RowTask> rows(starts.size() - 1, task);
  const PackedBatch batch{ids, {}, starts, rows};

  Duration fastest = Duration::max();
  // Two more that do not count: the first runs eagerly whatever was asked for, and the second makes the
  // graph.
  for (int i = -2; i < kTimes; ++i) {
    std::optional<LazyTensor> slot = pipeline_.TakeSlot();
    if (!slot.has_value()) return absl::FailedPreconditionError("cuda engine: timing with all slots taken");
    const auto begin = now_();
    if (auto status = pipeline_.Begin(batch, *slot, how); !status.ok()) return status;
    const DeviceStatus done = pipeline_.device().Synchronize(pipeline_.stream());
    const auto end = now_();
    if (done != DeviceStatus::kOk) return DeviceError(done, absl::StrCat("timing ", tokens, " tokens"));
    slot->GiveUp();
    if (i >= 0) fastest = std::min<Duration>(fastest, end - begin);
  }
  if (how == Pipeline::How::kAsItComes && pipeline_.last_path() != GraphCache::Path::kReplayed) {
    return Duration::max();
  }
  return fastest;
}

absl::StatusOr<Inflection> MeasureInflection(DeviceThread& thread, const PipelineTimes::Now& now) {
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
