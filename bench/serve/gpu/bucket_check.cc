#include "bench/serve/gpu/bucket_check.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/serve/batch_commands.h"
#include "bench/serve/gpu/step_rows.h"
#include "serve/engine/cuda/device_error.h"

namespace trellis::engine::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using Path = GraphCache::Path;
using How = Pipeline::How;

// Each row at least one token, the rest by chance, as long as a row may be.
std::vector<int32_t> Lengths(int32_t rows, int32_t tokens, int32_t longest, std::mt19937& random) {
  std::vector<int32_t> lengths(static_cast<size_t>(rows), 1);
  for (int32_t left = tokens - rows; left > 0;) {
    int32_t& length = lengths[random() % lengths.size()];
    const int32_t more = std::min({left, longest - length, 1 + static_cast<int32_t>(random() % 64)});
    length += more;
    left -= more;
  }
  return lengths;
}

Rows RandomRows(const EngineLimits& limits, int32_t rows, int32_t tokens, uint32_t seed) {
  std::mt19937 random(seed);
  Rows made;
  for (const int32_t length : Lengths(rows, tokens, limits.max_row_tokens, random)) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(limits.vocab_size)));
    }
    made.Add(ids);
  }
  return made;
}

// Every token's vector first: it shows all that the encoder computes.
void AskForAll(const EngineLimits& limits, Rows& rows) {
  std::vector<Task> tasks;
  for (const Task task : {Task::kEmbedAll, Task::kEmbed, Task::kSparse, Task::kClassify}) {
    if (limits.tasks[static_cast<int>(task)]) tasks.push_back(task);
  }
  for (size_t i = 0; i < rows.tasks.size(); ++i) rows.tasks[i].task = tasks[i % tasks.size()];
}

bool SameBits(const std::vector<RowAnswer>& a, const std::vector<RowAnswer>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const RowAnswer& x, const RowAnswer& y) {
    return x.indices == y.indices && x.values.size() == y.values.size() &&
           std::memcmp(x.values.data(), y.values.data(), x.values.size() * sizeof(float)) == 0;
  });
}

struct Run {
  Path path = Path::kEager;
  std::chrono::nanoseconds launch{}, whole{};
  std::vector<RowAnswer> answers;
};

absl::StatusOr<Run> RunOnce(Pipeline& pipeline, const Rows& rows, How how) {
  std::optional<LazyTensor> slot = pipeline.TakeSlot();
  if (!slot.has_value()) return absl::FailedPreconditionError("checking a bucket with all slots taken");
  Run run;
  const PackedBatch batch = rows.view();
  const auto begin = Clock::now();
  if (auto status = pipeline.Begin(batch, *slot, how); !status.ok()) return status;
  run.launch = Clock::now() - begin;
  const DeviceStatus done = pipeline.device().Synchronize(pipeline.stream());
  run.whole = Clock::now() - begin;
  if (done != DeviceStatus::kOk) {
    return DeviceError(
        done, absl::StrCat("a batch of ", batch.num_rows(), " rows and ", batch.num_tokens(), " tokens"));
  }
  run.path = pipeline.last_path();
  const Buffer output = slot->output();
  run.answers = pipeline.forward().Read(batch, {output.data, output.size});
  slot->GiveUp();
  return run;
}

absl::Status TimeRuns(Pipeline& pipeline, const Rows& rows, How how, int runs,
                      std::chrono::nanoseconds& launch, std::chrono::nanoseconds& whole) {
  std::vector<std::chrono::nanoseconds> launches, wholes;
  for (int i = 0; i < runs; ++i) {
    const auto run = RunOnce(pipeline, rows, how);
    if (!run.ok()) return run.status();
    launches.push_back(run->launch);
    wholes.push_back(run->whole);
  }
  std::sort(launches.begin(), launches.end());
  std::sort(wholes.begin(), wholes.end());
  launch = launches[launches.size() / 2];
  whole = wholes[wholes.size() / 2];
  return absl::OkStatus();
}

absl::Status Check(Pipeline& pipeline, BucketCheck& check, const Rows& rows, const Rows& others) {
  // Eager once more at first, since the first use of kernels and products loads them.
  const std::pair<const Rows*, How> all[] = {{&rows, How::kEagerly},     {&rows, How::kEagerly},
                                             {&others, How::kEagerly},   {&rows, How::kAsItComes},
                                             {&others, How::kAsItComes}, {&rows, How::kAsItComes},
                                             {&others, How::kAsItComes}};
  std::vector<Run> runs;
  const size_t bytes_before = pipeline.graphs().counters().bytes;
  for (const auto& [batch, how] : all) {
    auto run = RunOnce(pipeline, *batch, how);
    if (!run.ok()) return run.status();
    runs.push_back(*std::move(run));
  }
  check.captured =
      runs[4].path == Path::kCaptured && runs[5].path == Path::kReplayed && runs[6].path == Path::kReplayed;
  check.capture = runs[4].launch;
  const size_t bytes_after = pipeline.graphs().counters().bytes;
  check.graph_bytes = bytes_after > bytes_before ? bytes_after - bytes_before : 0;
  check.equal = true;
  for (const auto& [run, eager] : {std::pair{3, 1}, {4, 2}, {5, 1}, {6, 2}}) {
    check.equal &= SameBits(runs[static_cast<size_t>(run)].answers, runs[static_cast<size_t>(eager)].answers);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BucketCheck> CheckBucket(DeviceThread& thread, int32_t rows, int32_t tokens, int runs) {
  const EngineLimits& limits = thread.limits();
  if (rows < 1 || rows > limits.max_batch_rows || tokens < rows || tokens > limits.max_batch_tokens ||
      int64_t{rows} * limits.max_row_tokens < tokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bucket ", rows, "x", tokens, ": expected up to ", limits.max_batch_rows, " rows of up to ",
        limits.max_row_tokens, " tokens, with at most ", limits.max_batch_tokens, " tokens together"));
  }
  BucketCheck check;
  check.bucket = BucketOf(rows, tokens);
  check.runs = runs;
  Rows first = RandomRows(limits, rows, tokens, 1);
  // Other lengths, and where that is the same bucket, one row less and fewer tokens: what a graph has of the
  // batch that it was captured with shows in the other.
  int32_t fewer_rows = rows, fewer_tokens = tokens;
  if (rows > 1 && RowBucket(rows - 1) == check.bucket.rows &&
      int64_t{rows - 1} * limits.max_row_tokens >= tokens) {
    fewer_rows = rows - 1;
  }
  if (TokenBucket(tokens - 15) == check.bucket.tokens && tokens - 15 >= fewer_rows)
    fewer_tokens = tokens - 15;
  Rows others = RandomRows(limits, fewer_rows, fewer_tokens, 2);
  const Rows timed = WithTask(first, OwnTask(limits));
  AskForAll(limits, first);
  AskForAll(limits, others);
  const absl::Status status = thread.Call([&](Pipeline& pipeline) {
    absl::Status done = Check(pipeline, check, first, others);
    if (done.ok()) done = TimeRuns(pipeline, timed, How::kEagerly, runs, check.eager_launch, check.eager);
    if (done.ok()) done = TimeRuns(pipeline, timed, How::kAsItComes, runs, check.graph_launch, check.graph);
    return done;
  });
  if (!status.ok()) return status;
  return check;
}

}  // namespace trellis::engine::cuda
