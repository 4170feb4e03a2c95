// The composition: admission, then the queue and batcher inside the Scheduler, driven by the Executor over an
// engine.
#include "serve/server/server.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/server/admission.h"
#include "serve/server/answer_bytes.h"
#include "serve/server/executor.h"
#include "serve/server/options.h"
#include "serve/server/warm_up.h"

namespace trellis::server {
namespace {

class BatchingServer : public Server {
 public:
  BatchingServer(std::unique_ptr<engine::Engine> engine, const SchedulerOptions& options, Observer* observer)
      : engine_(std::move(engine)),
        options_(options),
        observer_(observer != nullptr ? observer : &deaf_),
        executor_(engine_.get(), options, observer_) {}

  absl::StatusOr<Ticket> Submit(Request request) override {
    // Before the lock: it costs a pass over the ids.
    if (auto status = CheckRequest(request, engine_->limits(), options_.max_queued(request.priority));
        !status.ok()) {
      const bool task = status.code() == absl::StatusCode::kFailedPrecondition;
      observer_->Refused(task ? Observer::Refusal::kUnsupportedTask : Observer::Refusal::kInvalid);
      return status;
    }
    const int64_t bytes = ExpectedAnswerBytes(engine_->limits(), request.rows, request.cu_seqlens).most;
    if (bytes > options_.max_answer_bytes) {
      observer_->Refused(Observer::Refusal::kInvalid);
      return absl::InvalidArgumentError(absl::StrCat("answer to the request: up to ", bytes,
                                                     " bytes, expected at most ", options_.max_answer_bytes,
                                                     ", what all answers together may have"));
    }
    return executor_.Accept(std::move(request), bytes);
  }
  void Cancel(Ticket ticket) override { executor_.Cancel(ticket); }
  bool Drain(std::chrono::milliseconds limit) override { return executor_.Drain(limit); }
  Health health() const override { return executor_.health(); }
  const engine::EngineLimits& engine_limits() const override { return engine_->limits(); }
  int32_t max_batch_tokens() const override { return static_cast<int32_t>(options_.policy.max_tokens); }
  int64_t max_queued_tokens(Priority priority) const override { return options_.max_queued(priority); }

 private:
  Observer deaf_;
  const std::unique_ptr<engine::Engine> engine_;
  const SchedulerOptions options_;
  Observer* const observer_;
  Executor executor_;  // last: its threads use all of the above
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(std::unique_ptr<engine::Engine> engine,
                                                       const ServerOptions& options, Observer* observer) {
  if (engine == nullptr) return absl::InvalidArgumentError("engine: none, expected one");
  const engine::EngineLimits& limits = engine->limits();
  if (auto status = CheckEngineLimits(limits); !status.ok()) return status;
  if (auto status = CheckOptions(options, limits); !status.ok()) return status;

  int64_t budget = options.max_batch_tokens;
  const int32_t max_rows =
      options.max_batch_requests > 0 ? options.max_batch_requests : limits.max_batch_rows;
  if (budget == 0) {
    const auto found = FindBudget(*engine, max_rows, options.target_batch_time, [] { return Clock::now(); });
    if (!found.ok()) return found.status();
    budget = found->max_tokens;
    std::fprintf(
        stderr,
        "trellis: batches of up to %lld tokens, about %.1f ms (wanted %lld ms; rows have up to %d tokens)\n",
        static_cast<long long>(budget), std::chrono::duration<double, std::milli>(found->took).count(),
        static_cast<long long>(options.target_batch_time.count()), limits.max_row_tokens);
  } else if (auto status = TryEngine(*engine); !status.ok()) {
    return status;
  }
  const SchedulerOptions resolved = Resolve(options, limits, budget);
  return std::make_unique<BatchingServer>(std::move(engine), resolved, observer);
}

}  // namespace trellis::server
