#include "serve/engine/synthetic/synthetic_engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/engine/contract_check.h"
#include "serve/engine/synthetic/synthetic_values.h"

namespace trellis::engine {
namespace {

using Clock = std::chrono::steady_clock;

bool Has(std::span<const int32_t> ids, int64_t marker) {
  return marker >= 0 && std::find(ids.begin(), ids.end(), marker) != ids.end();
}

// A code and a text rather than a Status, since it crosses threads: each makes its own.
struct Failure {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string why;
  absl::Status status() const { return absl::Status(code, why); }
};

struct Job {
  PackedBatch batch;
  uint64_t fingerprint = 0;
  int64_t step = 0;
  Clock::duration duration{};
  Clock::time_point submitted;

  // Under the engine's mutex until `done`, then unchanging.
  bool done = false;
  Failure failure;
  std::vector<SyntheticRow> rows;
  std::vector<absl::StatusCode> row_codes;
};

class SyntheticEngine : public Engine {
 public:
  explicit SyntheticEngine(const SyntheticOptions& options)
      : options_(options), worker_([this] { Work(); }) {}
  ~SyntheticEngine() override {
    if (results_ != 0)
      Breach(absl::StrCat("the engine is destroyed with ", results_.load(), " results alive, expected 0"));
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  const EngineLimits& limits() const override { return options_.limits; }
  absl::StatusOr<std::unique_ptr<LazyResult>> Step(const PackedBatch& batch) override;

 private:
  class Result;

  void Breach(const std::string& what) const {
    if (options_.on_breach) return options_.on_breach(what);
    std::fprintf(stderr, "synthetic engine: broken contract: %s\n", what.c_str());
    std::abort();
  }
  absl::StatusOr<std::unique_ptr<LazyResult>> Begin(const PackedBatch& batch);
  void Work();
  void Compute(Job& job) const;

  const SyntheticOptions options_;
  std::atomic<bool> stepping_{false};
  std::atomic<int64_t> results_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  // not done yet, oldest first
  int64_t steps_ = 0;
  bool dead_ = false;
  bool stop_ = false;
  std::thread worker_;
};

class SyntheticEngine::Result : public LazyResult {
 public:
  Result(SyntheticEngine* engine, std::shared_ptr<Job> job) : engine_(engine), job_(std::move(job)) {
    ++engine_->results_;
  }
  ~Result() override {
    if (!waited_) Finish();
    --engine_->results_;
  }

  bool Ready() const override {
    const std::lock_guard lock(engine_->mutex_);
    return job_->done;
  }
  absl::Status Wait() override {
    Finish();
    if (job_->step == engine_->options_.throw_wait)
      throw std::runtime_error(absl::StrCat("Wait of step ", job_->step));
    return job_->failure.status();
  }
  RowValues row(size_t index) const override {
    if (!waited_ || job_->failure.code != absl::StatusCode::kOk || index >= job_->rows.size()) {
      engine_->Breach(
          absl::StrCat("row(", index, ") of a result that has no such row or was not waited for"));
      return {absl::StatusCode::kInternal, {}, {}};
    }
    return {job_->row_codes[index], job_->rows[index].values, job_->rows[index].indices};
  }

 private:
  void Finish() {
    {
      std::unique_lock lock(engine_->mutex_);
      engine_->changed_.wait(lock, [this] { return job_->done; });
    }
    if (!waited_ && Fingerprint(job_->batch) != job_->fingerprint) {
      engine_->Breach(absl::StrCat("the batch of step ", job_->step, " changed before it was waited for"));
    }
    waited_ = true;
  }

  SyntheticEngine* const engine_;
  const std::shared_ptr<Job> job_;
  bool waited_ = false;
};

absl::StatusOr<std::unique_ptr<LazyResult>> SyntheticEngine::Step(const PackedBatch& batch) {
  if (stepping_.exchange(true)) Breach("two Steps at a time, expected one");
  struct Leave {
    std::atomic<bool>& stepping;
    ~Leave() { stepping = false; }
  } leave{stepping_};
  return Begin(batch);
}

absl::StatusOr<std::unique_ptr<LazyResult>> SyntheticEngine::Begin(const PackedBatch& batch) {
  if (const std::string breach = BatchBreach(batch, options_.limits); !breach.empty()) {
    Breach(breach);
    return absl::InvalidArgumentError(breach);
  }
  auto job = std::make_shared<Job>();
  job->batch = batch;
  job->fingerprint = Fingerprint(batch);
  job->submitted = Clock::now();
  job->duration = std::chrono::microseconds(options_.batch_us) +
                  std::chrono::microseconds(options_.row_us) * static_cast<int64_t>(batch.num_rows()) +
                  std::chrono::nanoseconds(options_.token_ns) * static_cast<int64_t>(batch.num_tokens());
  {
    const std::lock_guard lock(mutex_);
    job->step = ++steps_;
    if (options_.die_after > 0 && job->step > options_.die_after) dead_ = true;
    if (dead_) return absl::UnavailableError(absl::StrCat("synthetic engine: dead at step ", job->step));
    if (job->step == options_.throw_step) throw std::runtime_error(absl::StrCat("step ", job->step));
    if (static_cast<int64_t>(jobs_.size()) >= options_.limits.max_in_flight) {
      Breach(absl::StrCat("step ", job->step, ": ", jobs_.size(), " results unfinished, expected fewer than ",
                          options_.limits.max_in_flight));
    }
    jobs_.push_back(job);
  }
  changed_.notify_all();
  return std::make_unique<Result>(this, std::move(job));
}

void SyntheticEngine::Work() {
  std::unique_lock lock(mutex_);
  Clock::time_point free_at = Clock::time_point::min();  // by plan, so that late wake-ups do not add up
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::shared_ptr<Job> job = jobs_.front();
    free_at = std::max(free_at, job->submitted) + job->duration;
    lock.unlock();
    Compute(*job);
    std::this_thread::sleep_until(free_at);
    lock.lock();
    if (job->step == options_.die_during) dead_ = true;
    if (dead_) {
      job->failure = {absl::StatusCode::kUnavailable,
                      absl::StrCat("synthetic engine: died during step ", job->step)};
    }
    job->done = true;
    jobs_.pop_front();
    changed_.notify_all();
  }
}

void SyntheticEngine::Compute(Job& job) const {
  const PackedBatch& batch = job.batch;
  if (job.step == options_.fail_step) {
    job.failure = {absl::StatusCode::kInternal, absl::StrCat("synthetic engine: step ", job.step, " fails")};
    return;
  }
  if (Has(batch.ids, options_.fail_batch_id)) {
    job.failure = {absl::StatusCode::kInternal,
                   absl::StrCat("synthetic engine: id ", options_.fail_batch_id, " fails its batch")};
    return;
  }
  for (size_t r = 0; r < batch.num_rows(); ++r) {
    const auto begin = static_cast<size_t>(batch.cu_seqlens[r]);
    const size_t size = static_cast<size_t>(batch.cu_seqlens[r + 1]) - begin;
    const auto ids = batch.ids.subspan(begin, size);
    if (Has(ids, options_.fail_row_id)) {
      job.row_codes.push_back(absl::StatusCode::kInternal);
      job.rows.emplace_back();
      continue;
    }
    const auto types = batch.type_ids.empty() ? batch.type_ids : batch.type_ids.subspan(begin, size);
    job.rows.push_back(SyntheticValues(ids, types, batch.rows[r], options_.limits));
    job.row_codes.push_back(absl::StatusCode::kOk);
    if (Has(ids, options_.nonfinite_id))
      job.rows.back().values.back() = std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace

std::unique_ptr<Engine> MakeSyntheticEngine(const SyntheticOptions& options) {
  return std::make_unique<SyntheticEngine>(options);
}

absl::StatusOr<std::unique_ptr<Engine>> MakeSyntheticEngine(std::string_view spec) {
  auto options = ParseSyntheticOptions(spec);
  if (!options.ok()) return options.status();
  return MakeSyntheticEngine(*options);
}

}  // namespace trellis::engine
