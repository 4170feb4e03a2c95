#include "serve/server/warm_up.h"

#include <algorithm>
#include <exception>
#include <memory>

#include "absl/strings/str_cat.h"

namespace trellis::server {
namespace {

constexpr int kRepetitions = 3;
constexpr int kLong = 4;      // times the target
constexpr int kAttempts = 3;  // at a size
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

absl::StatusOr<Probe> TimeTokens(engine::Engine& engine, int64_t tokens, int64_t max_rows,
                                 Clock::duration target, const Now& now) {
  const WarmUpBatch batch = MakeBatch(engine.limits(), tokens, max_rows);
  Probe best{tokens, Clock::duration::max()};
  for (int i = 0; i < kRepetitions; ++i) {
    const Clock::time_point begin = now();
    if (auto status = RunOnce(engine, batch); !status.ok()) return AtWarmUp(status, tokens);
    best.took = std::min(best.took, now() - begin);
    if (best.took > kLong * target)
      break;  // what disturbs is small beside it, and starting takes long enough
  }
  return best;
}

struct Choice {
  int64_t tokens = 0;
  Clock::duration wanted{};
};

// By the line through two sizes: what a batch costs whatever is in it, and each token. A batch takes
// `target`; but where the fixed cost is more than half of that, so much again for its tokens, or batches
// would be tiny and nearly all of their time fixed cost.
Choice Choose(const Probe& small, const Probe& large, Clock::duration target, int64_t least, int64_t most) {
  const auto ns = [](Clock::duration d) { return static_cast<double>(std::chrono::nanoseconds(d).count()); };
  const double slope =
      std::max(0.0, (ns(large.took) - ns(small.took)) / static_cast<double>(large.tokens - small.tokens));
  const double fixed = ns(small.took) - slope * static_cast<double>(small.tokens);
  const double wanted = std::max(ns(target), 2 * fixed);
  const double tokens = (wanted - fixed) / std::max(slope, 1e-9);
  return {static_cast<int64_t>(std::clamp(tokens, static_cast<double>(least), static_cast<double>(most))),
          std::chrono::nanoseconds(static_cast<int64_t>(wanted))};
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
  const auto probe = [&](int64_t tokens) -> absl::StatusOr<Probe> {
    const auto same = std::find_if(search.probes.begin(), search.probes.end(),
                                   [tokens](const Probe& p) { return p.tokens == tokens; });
    if (same != search.probes.end()) return *same;
    auto timed = TimeTokens(engine, tokens, max_rows, target, now);
    if (timed.ok()) search.probes.push_back(*timed);
    return timed;
  };

  if (auto status = TryEngine(engine); !status.ok()) return status;  // what is slow only once
  Probe before, last;
  for (int64_t tokens = std::min(kFirstTokens, most);; tokens = std::min(tokens * 2, most)) {
    before = last;
    auto timed = probe(tokens);
    if (!timed.ok()) return timed.status();
    last = *timed;
    if (last.took >= target || tokens == most) break;
  }
  if (last.took >= target && before.tokens == 0 && last.tokens < most) {
    // The smallest takes too long. A second size tells what a batch costs from what its tokens do.
    before = last;
    auto timed = probe(std::clamp(least, last.tokens + 1, most));
    if (!timed.ok()) return timed.status();
    last = *timed;
  }
  Probe chosen = last;
  if (last.took > target && before.tokens > 0) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Choice choice = Choose(before, last, target, least, most);
      auto timed = probe(choice.tokens);
      if (!timed.ok()) return timed.status();
      chosen = *timed;
      if (chosen.took <= choice.wanted + choice.wanted / 8 || chosen.tokens == least) break;
      last = chosen;  // where attention's share grows, the line bends: nearer by
      if (last.tokens <= before.tokens) break;
    }
  }
  search.max_tokens = std::clamp(chosen.tokens, least, most);
  auto timed = probe(search.max_tokens);
  if (!timed.ok()) return timed.status();
  search.took = timed->took;
  return search;
}

}  // namespace trellis::server
