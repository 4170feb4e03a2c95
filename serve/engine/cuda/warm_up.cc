#include "serve/engine/cuda/warm_up.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/made_batch.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace trellis::engine::cuda {
namespace {

// The first loads, the second is captured, the third replays.
constexpr int kTimes = 3;

absl::Status RunSize(CudaEngine& engine, Bucket size) {
  const MadeBatch batch = BatchOfSize(size, engine.limits());
  for (int i = 0; i < kTimes; ++i) {
    auto result = engine.Step(batch.view());
    if (!result.ok()) return result.status();
    if (auto status = (*result)->Wait(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<Difference> CompareAndForget(CudaEngine& engine, const WarmUpPlan& plan) {
  absl::StatusOr<Difference> worst;
  {
    auto reference = plan.open_reference();
    if (!reference.ok()) return reference.status();
    worst = CompareEngines(engine, **reference, plan.lengths);
  }
#ifdef __GLIBC__
  // A model's weights in float, in blocks that the allocator would keep for later.
  malloc_trim(0);
#endif
  return worst;
}

}  // namespace

std::vector<Bucket> DefaultWarmUp(const EngineLimits& limits, int32_t most_tokens) {
  std::vector<Bucket> sizes;
  for (const int32_t rows : {1, 4, 16, 64}) {
    if (rows > limits.max_batch_rows) continue;
    for (int32_t length = std::min(TokenBucket(1), limits.max_row_tokens);;
         length = std::min(2 * length, limits.max_row_tokens)) {
      if (length > std::min(most_tokens, limits.max_batch_tokens) / rows) break;
      sizes.push_back({rows, rows * length});
      if (length == limits.max_row_tokens) break;
    }
  }
  return sizes;
}

absl::Status CheckWarmUp(std::span<const Bucket> sizes, const EngineLimits& limits) {
  for (const Bucket& size : sizes) {
    const int64_t most =
        std::min<int64_t>(limits.max_batch_tokens, int64_t{size.rows} * limits.max_row_tokens);
    if (size.rows >= 1 && size.rows <= limits.max_batch_rows && size.tokens >= size.rows &&
        size.tokens <= most) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "cuda: warm_up: \"", size.rows, "x", size.tokens, "\", expected at most ", limits.max_batch_rows,
        " rows, ", limits.max_row_tokens, " tokens each, and ", limits.max_batch_tokens, " tokens in all"));
  }
  return absl::OkStatus();
}

absl::StatusOr<WarmUpReport> WarmUp(CudaEngine& engine, const WarmUpPlan& plan,
                                    const PipelineTimes::Now& now) {
  if (auto status = CheckWarmUp(plan.sizes, engine.limits()); !status.ok()) return status;
  WarmUpReport report;
  auto inflection = MeasureInflection(engine.thread(), now);
  if (!inflection.ok()) return inflection.status();
  report.inflection = *std::move(inflection);
  const std::vector<Bucket> sizes =
      plan.sizes.empty() ? DefaultWarmUp(engine.limits(), report.inflection.tokens) : plan.sizes;
  for (const Bucket& size : sizes) {
    if (auto status = RunSize(engine, size); !status.ok()) return status;
  }
  report.sizes = sizes.size();
  auto worst = CompareAndForget(engine, plan);
  if (!worst.ok()) return worst.status();
  report.worst = *worst;
  if (auto status = CheckDifference(report.worst); !status.ok()) return status;
  return report;
}

std::string Describe(const WarmUpReport& report) {
  return absl::StrCat(report.inflection.tokens > 0
                          ? absl::StrCat("graphs for batches of up to ", report.inflection.tokens, " tokens")
                          : "no graphs, which gain nothing here",
                      " (", report.inflection.probes.size(), " sizes timed); ", report.sizes,
                      " sizes of batches run; beside the CPU engine the worst is ", Describe(report.worst));
}

}  // namespace trellis::engine::cuda
