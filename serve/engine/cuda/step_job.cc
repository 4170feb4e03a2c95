#include "serve/engine/cuda/step_job.h"

#include <exception>

#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {

void ReadAnswer(StepQueue& queue, const std::shared_ptr<StepJob>& job, std::unique_lock<std::mutex>& lock) {
  std::erase(queue.arrived, job);
  job->state = StepJob::State::kReading;
  ++queue.reading;
  lock.unlock();
  try {
    job->rows = queue.forward->Read(job->batch, job->tensor->bytes());
  } catch (const std::exception& error) {  // memory
    job->failure = {absl::StatusCode::kInternal,
                    absl::StrCat("cuda engine: result of ", job->batch.num_rows(), " rows: ", error.what())};
  }
  job->tensor.reset();
  lock.lock();
  --queue.reading;
  job->state = StepJob::State::kDone;
  queue.changed.notify_all();
}

}  // namespace trellis::engine::cuda
