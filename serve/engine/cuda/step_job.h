// What the device's thread and the threads that wait for results share.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_STEP_JOB_H_
#define TRELLIS_SERVE_ENGINE_CUDA_STEP_JOB_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "serve/engine/cuda/forward.h"
#include "serve/engine/cuda/lazy_tensor.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

// A code and a text rather than a Status, since it crosses threads: each makes its own.
struct Failure {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string why;

  static Failure Of(const absl::Status& status) { return {status.code(), std::string(status.message())}; }
  bool failed() const { return code != absl::StatusCode::kOk; }
  absl::Status status() const { return absl::Status(code, why); }
};

// One batch, from Step until its result is destroyed.
struct StepJob {
  enum class State : uint8_t {
    kQueued,
    kBeginning,  // the device's thread packs it and launches: the last time that it reads the batch itself
    kInFlight,
    kArrived,  // in pinned memory, unread
    kReading,  // by one thread, which reads the batch too
    kDone,     // read, or failed, or nobody wants it
  };
  explicit StepJob(const PackedBatch& of) : batch(of) {}

  const PackedBatch batch;
  State state = State::kQueued;
  bool abandoned = false;            // its result has been destroyed
  std::optional<LazyTensor> tensor;  // from kBeginning to kReading
  Failure failure;
  std::vector<RowAnswer> rows;
};

struct StepQueue {
  std::mutex
      mutex;  // of all here and of the jobs' states; what a state says somebody is at is that one's alone
  std::condition_variable changed;
  std::deque<std::shared_ptr<StepJob>> queued, in_flight, arrived;  // each oldest first
  std::deque<std::function<void()>> calls;  // for the device's thread, before any batch
  int unfinished = 0;                       // queued, beginning or in flight
  int reading = 0;
  bool stop = false;
  Failure dead;  // why

  const Forward* forward = nullptr;  // what reads answers
};

// Reads the job's answer, which is kArrived, and gives its slot back. `lock` is of the queue, and let go of
// meanwhile.
void ReadAnswer(StepQueue& queue, const std::shared_ptr<StepJob>& job, std::unique_lock<std::mutex>& lock);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_STEP_JOB_H_
