#include "serve/engine/cuda/step_result.h"

#include <utility>

namespace trellis::engine::cuda {

using State = StepJob::State;

StepResult::StepResult(std::shared_ptr<StepQueue> queue, std::shared_ptr<StepJob> job)
    : queue_(std::move(queue)), job_(std::move(job)) {}

StepResult::~StepResult() {
  std::unique_lock lock(queue_->mutex);
  queue_->changed.wait(lock,
                       [this] { return job_->state != State::kBeginning && job_->state != State::kReading; });
  job_->abandoned = true;
  if (job_->state == State::kQueued) {  // nobody will look at it
    std::erase(queue_->queued, job_);
    --queue_->unfinished;
    job_->state = State::kDone;
  } else if (job_->state == State::kArrived) {
    std::erase(queue_->arrived, job_);
    job_->tensor.reset();
    job_->state = State::kDone;
    queue_->changed.notify_all();
  }
}

bool StepResult::Ready() const {
  const std::lock_guard lock(queue_->mutex);
  return job_->state >= State::kArrived;
}

absl::Status StepResult::Wait() {
  std::unique_lock lock(queue_->mutex);
  queue_->changed.wait(lock,
                       [this] { return job_->state == State::kArrived || job_->state == State::kDone; });
  if (job_->state == State::kArrived) ReadAnswer(*queue_, job_, lock);
  return job_->failure.status();
}

RowValues StepResult::row(size_t index) const {
  const RowAnswer& row = job_->rows[index];
  return {absl::StatusCode::kOk, row.values, row.indices};
}

}  // namespace trellis::engine::cuda
