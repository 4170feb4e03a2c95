#include "serve/server/warm_up.h"

#include <algorithm>
#include <exception>
#include <memory>

#include "absl/strings/str_cat.h"

namespace trellis::server {
namespace {

constexpr int kRepetitions = 3;
constexpr int64_t kFirstTokens = 16;
// A chunk of text as it is usually embedded: where attention's share of the work is still small.
constexpr int64_t kUsualRowTokens = 256;

struct WarmUpBatch {
  std::vector<int32_t> ids, cu_seqlens;
  std::vector<engine::RowTask> rows;
};

// `tokens` in as many rows of the usual length as it takes, longer ones when `max_rows` are not enough.
WarmUpBatch MakeBatch(const engine::EngineLimits& limits, int64_t tokens, int64_t max_rows) {
  WarmUpBatch batch;
  int64_t row_tokens = std::min<int64_t>(kUsualRowTokens, limits.max_row_tokens);
  row_tokens = std::max(row_tokens, (tokens + max_rows - 1) / max_rows);
  engine::RowTask task;
  for (int t = engine::kTasks - 1; t >= 0; --t) {
    if (limits.tasks[t]) task.task = static_cast<engine::Task>(t);
  }
  // The last of the vocabulary: the first ones are special tokens, to which engines may pay attention.
  batch.ids.assign(static_cast<size_t>(tokens), limits.vocab_size - 1);
  batch.cu_seqlens.push_back(0);
  for (int64_t end = 0; end < tokens;) {
    end = std::min(end + row_tokens, tokens);
    batch.cu_seqlens.push_back(static_cast<int32_t>(end));
    batch.rows.push_back(task);
  }
  return batch;
}

absl::Status RunOnce(engine::Engine& engine, const WarmUpBatch& batch) {
  try {
    auto result = engine.Step({batch.ids, {}, batch.cu_seqlens, batch.rows});
    if (!result.ok()) return result.status();
    if (*result == nullptr) return absl::InternalError("Step: no result and no error, expected one of them");
    return (*result)->Wait();
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("exception: ", e.what()));
  } catch (...) {
    return absl::InternalError("exception of an unknown type");
  }
}

absl::Status AtWarmUp(const absl::Status& status, int64_t tokens) {
  return absl::Status(status.code(),
                      absl::StrCat("warm-up with ", tokens, " tokens: ", std::string(status.message())));
}

absl::StatusOr<Probe> TimeTokens(engine::Engine& engine, int64_t tokens, int64_t max_rows, const Now& now) {
  const WarmUpBatch batch = MakeBatch(engine.limits(), tokens, max_rows);
  Probe best{tokens, Clock::duration::max()};
  for (int i = 0; i < kRepetitions; ++i) {
    const Clock::time_point begin = now();
    if (auto status = RunOnce(engine, batch); !status.ok()) return AtWarmUp(status, tokens);
    best.took = std::min(best.took, now() - begin);
  }
  return best;
}

}  // namespace

absl::Status TryEngine(engine::Engine& engine) {
  const int64_t tokens = std::min<int64_t>(kFirstTokens, engine.limits().max_row_tokens);
  if (auto status = RunOnce(engine, MakeBatch(engine.limits(), tokens, 1)); !status.ok()) {
    return AtWarmUp(status, tokens);
  }
  return absl::OkStatus();
}

absl::StatusOr<BudgetSearch> FindBudget(engine::Engine& engine, int32_t max_rows, Clock::duration target,
                                        const Now& now) {
  const engine::EngineLimits& limits = engine.limits();
  const int64_t least = limits.max_row_tokens;
  const int64_t most = std::min<int64_t>(limits.max_batch_tokens, int64_t{max_rows} * limits.max_row_tokens);
  BudgetSearch search;
  const auto settle = [&](double tokens, double ns_per_token) {
    search.max_tokens = std::clamp(static_cast<int64_t>(tokens), least, most);
    search.took =
        std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(search.max_tokens) * ns_per_token));
    return search;
  };
  const auto ns = [](Clock::duration d) { return static_cast<double>(std::chrono::nanoseconds(d).count()); };

  if (auto status = TryEngine(engine); !status.ok()) return status;  // what is slow only once
  for (int64_t tokens = std::min(kFirstTokens, most);; tokens = std::min(tokens * 2, most)) {
    auto probe = TimeTokens(engine, tokens, max_rows, now);
    if (!probe.ok()) return probe.status();
    search.probes.push_back(*probe);
    if (probe->took >= target || tokens == most) break;
  }
  const Probe& last = search.probes.back();
  const double last_rate = ns(last.took) / static_cast<double>(last.tokens);
  if (last.took <= target || search.probes.size() == 1)
    return settle(static_cast<double>(last.tokens), last_rate);
  // The line through the last two probes: it has the fixed cost of a batch in it.
  const Probe& before = search.probes[search.probes.size() - 2];
  const double slope = (ns(last.took) - ns(before.took)) / static_cast<double>(last.tokens - before.tokens);
  const double tokens = static_cast<double>(before.tokens) + (ns(target) - ns(before.took)) / slope;
  settle(tokens, 0);
  const double took = ns(before.took) + slope * static_cast<double>(search.max_tokens - before.tokens);
  search.took = std::chrono::nanoseconds(static_cast<int64_t>(took));
  return search;
}

}  // namespace trellis::server
