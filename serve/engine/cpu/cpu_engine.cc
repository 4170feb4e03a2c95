#include "serve/engine/cpu/cpu_engine.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/engine/cpu/matmul.h"
#include "serve/engine/cpu/model.h"
#include "serve/engine/contract_check.h"

namespace trellis::engine {
namespace {

// One batch, from Step until its result is destroyed. The mutex is shared with the engine, which may go
// first.
struct Job {
  PackedBatch batch;
  enum class State : uint8_t { kQueued, kRunning, kDone } state = State::kQueued;
  std::string failure;  // empty: none
  std::vector<cpu::RowOutput> rows;
};

struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> jobs;  // queued, oldest first
  int unfinished = 0;
  bool stop = false;
};

class CpuResult : public LazyResult {
 public:
  CpuResult(std::shared_ptr<Queue> queue, std::shared_ptr<Job> job)
      : queue_(std::move(queue)), job_(std::move(job)) {}
  ~CpuResult() override {
    std::unique_lock lock(queue_->mutex);
    if (job_->state == Job::State::kQueued) {  // nobody will look at it
      std::erase(queue_->jobs, job_);
      job_->state = Job::State::kDone;
      --queue_->unfinished;
    }
    queue_->changed.wait(lock, [this] { return job_->state == Job::State::kDone; });
  }

  bool Ready() const override {
    const std::lock_guard lock(queue_->mutex);
    return job_->state == Job::State::kDone;
  }
  absl::Status Wait() override {
    std::unique_lock lock(queue_->mutex);
    queue_->changed.wait(lock, [this] { return job_->state == Job::State::kDone; });
    return job_->failure.empty() ? absl::OkStatus() : absl::InternalError(job_->failure);
  }
  RowValues row(size_t index) const override {
    const cpu::RowOutput& row = job_->rows[index];
    return {absl::StatusCode::kOk, row.values, row.indices};
  }

 private:
  const std::shared_ptr<Queue> queue_;
  const std::shared_ptr<Job> job_;
};

class CpuEngine : public Engine {
 public:
  explicit CpuEngine(std::unique_ptr<cpu::Model> model)
      : model_(std::move(model)), queue_(std::make_shared<Queue>()), worker_([this] { Work(); }) {}
  // Results that are still there get their batches done first.
  ~CpuEngine() override {
    {
      const std::lock_guard lock(queue_->mutex);
      queue_->stop = true;
    }
    queue_->changed.notify_all();
    worker_.join();
  }

  const EngineLimits& limits() const override { return model_->limits(); }
  absl::StatusOr<std::unique_ptr<LazyResult>> Step(const PackedBatch& batch) override;

 private:
  void Work();
  void Compute(Job& job);

  const std::unique_ptr<cpu::Model> model_;
  const std::shared_ptr<Queue> queue_;
  std::thread worker_;
};

absl::StatusOr<std::unique_ptr<LazyResult>> CpuEngine::Step(const PackedBatch& batch) {
  // Costs next to nothing here, and an id out of range would read somebody else's memory.
  if (const std::string breach = BatchBreach(batch, limits()); !breach.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("cpu engine: ", breach));
  }
  auto job = std::make_shared<Job>();
  job->batch = batch;
  auto result = std::make_unique<CpuResult>(queue_, job);
  {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->unfinished >= limits().max_in_flight) {
      job->state = Job::State::kDone;
      return absl::FailedPreconditionError(absl::StrCat("cpu engine: ", queue_->unfinished,
                                                        " results unfinished, expected fewer than ",
                                                        limits().max_in_flight));
    }
    ++queue_->unfinished;
    queue_->jobs.push_back(std::move(job));
  }
  queue_->changed.notify_all();
  return result;
}

void CpuEngine::Work() {
  cpu::UseOneThreadHere();
  std::unique_lock lock(queue_->mutex);
  for (;;) {
    queue_->changed.wait(lock, [this] { return queue_->stop || !queue_->jobs.empty(); });
    if (queue_->jobs.empty()) return;
    const std::shared_ptr<Job> job = std::move(queue_->jobs.front());
    queue_->jobs.pop_front();
    job->state = Job::State::kRunning;
    lock.unlock();
    Compute(*job);
    lock.lock();
    job->state = Job::State::kDone;
    --queue_->unfinished;
    queue_->changed.notify_all();
  }
}

void CpuEngine::Compute(Job& job) {
  try {
    job.rows = model_->Run(job.batch);
  } catch (const std::exception& error) {  // memory, or oneDNN
    job.failure = absl::StrCat("cpu engine: batch of ", job.batch.num_rows(), " rows and ",
                               job.batch.num_tokens(), " tokens: ", error.what());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> CreateCpuEngine(const ModelConfig& config, Weights weights,
                                                        const HeadWeights& beside,
                                                        const CpuEngineOptions& options) {
  const cpu::Precision precision = options.precision.value_or(DefaultPrecision());
  const int threads = options.threads > 0 ? options.threads : DefaultThreads();
  auto model = cpu::Model::Create(config, std::move(weights), beside, precision, threads);
  if (!model.ok()) {
    return absl::Status(model.status().code(),
                        absl::StrCat(config.name, ": ", std::string(model.status().message())));
  }
  return std::make_unique<CpuEngine>(*std::move(model));
}

absl::StatusOr<std::unique_ptr<Engine>> OpenCpuEngine(const CpuEngineOptions& options) {
  auto checkpoint = OpenCheckpoint(options.folder);
  if (!checkpoint.ok()) return checkpoint.status();
  return CreateCpuEngine(checkpoint->config, std::move(checkpoint->weights), checkpoint->beside, options);
}

absl::StatusOr<std::unique_ptr<Engine>> OpenCpuEngine(std::string_view spec) {
  const auto options = ParseCpuEngineOptions(spec);
  if (!options.ok()) return options.status();
  return OpenCpuEngine(*options);
}

}  // namespace trellis::engine
