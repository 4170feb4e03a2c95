#include "serve/engine/cuda/device_thread.h"

#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/device_error.h"
#include "serve/engine/cuda/step_result.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace trellis::engine::cuda {

using State = StepJob::State;

absl::StatusOr<std::unique_ptr<DeviceThread>> DeviceThread::Start(DeviceSetup setup) {
  auto thread = std::unique_ptr<DeviceThread>(new DeviceThread(std::move(setup)));
  std::unique_lock lock(thread->queue_->mutex);
  thread->queue_->changed.wait(lock, [&] { return thread->set_up_done_; });
  if (thread->set_up_.failed()) {
    const absl::Status status = thread->set_up_.status();
    lock.unlock();
    return status;
  }
  return thread;
}

DeviceThread::DeviceThread(DeviceSetup setup)
    : setup_(std::move(setup)), queue_(std::make_shared<StepQueue>()), thread_([this] { Live(); }) {}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->stop = true;
  }
  queue_->changed.notify_all();
  thread_.join();
}

absl::StatusOr<std::unique_ptr<LazyResult>> DeviceThread::Post(const PackedBatch& batch) {
  auto job = std::make_shared<StepJob>(batch);
  {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->dead.failed()) return queue_->dead.status();
    if (queue_->unfinished >= limits_.max_in_flight) {
      return absl::FailedPreconditionError(absl::StrCat("cuda engine: ", queue_->unfinished,
                                                        " results unfinished, expected fewer than ",
                                                        limits_.max_in_flight));
    }
    ++queue_->unfinished;
    queue_->queued.push_back(job);
  }
  queue_->changed.notify_all();
  return std::make_unique<StepResult>(queue_, std::move(job));
}

absl::Status DeviceThread::Call(const std::function<absl::Status(Pipeline& pipeline)>& work) {
  Failure failure;
  bool done = false;
  std::unique_lock lock(queue_->mutex);
  queue_->calls.emplace_back([&] {
    failure = Failure::Of(work(*pipeline_));
    const std::lock_guard inner(queue_->mutex);
    if (failure.code == absl::StatusCode::kUnavailable) Die(failure);
    done = true;
  });
  queue_->changed.notify_all();
  queue_->changed.wait(lock, [&] { return done; });
  return failure.status();
}

void DeviceThread::Live() {
#ifdef __linux__
  // Waiting for ten microseconds would otherwise take sixty.
  prctl(PR_SET_TIMERSLACK, 1000UL);
#endif
  const Failure set_up = Failure::Of(SetUp());
  std::unique_lock lock(queue_->mutex);
  set_up_ = set_up;
  set_up_done_ = true;
  queue_->changed.notify_all();
  if (!set_up.failed()) Work(lock);
  lock.unlock();
  pipeline_.reset();
  forward_.reset();
  device_.reset();
}

absl::Status DeviceThread::SetUp() {
  try {
    auto device = setup_.open();
    if (!device.ok()) return device.status();
    device_ = *std::move(device);
    StreamId stream{};
    if (auto status = DeviceError(device_->CreateStream(&stream), "the stream"); !status.ok()) return status;
    auto forward = setup_.load(*device_, stream);
    if (!forward.ok()) return forward.status();
    forward_ = *std::move(forward);
    limits_ = forward_->limits();
    queue_->forward = forward_.get();
    auto pipeline = Pipeline::Create(*device_, stream, *forward_, setup_.pipeline);
    if (!pipeline.ok()) return pipeline.status();
    pipeline_ = *std::move(pipeline);
    return absl::OkStatus();
  } catch (const std::exception& error) {  // memory
    return absl::ResourceExhaustedError(absl::StrCat("cuda engine: ", error.what()));
  }
}

void DeviceThread::Work(std::unique_lock<std::mutex>& lock) {
  StepQueue& queue = *queue_;
  for (;;) {
    if (RunCall(lock)) continue;
    // Both each time round: results do not wait for launches that follow one another, nor the other way
    // round.
    const bool asked = AskForOldest(lock);
    if (BeginNext(lock) || asked || !queue.calls.empty()) continue;
    if (!queue.in_flight.empty()) {
      queue.changed.wait_for(lock, setup_.ask_every);
    } else if (queue.stop && queue.queued.empty()) {
      break;
    } else {
      queue.changed.wait(lock);
    }
  }
  // The pinned memory goes, and what is in it is copied first.
  while (!queue.arrived.empty()) ReadAnswer(queue, std::shared_ptr(queue.arrived.front()), lock);
  queue.changed.wait(lock, [&queue] { return queue.reading == 0; });
}

bool DeviceThread::RunCall(std::unique_lock<std::mutex>& lock) {
  if (queue_->calls.empty()) return false;
  const std::function<void()> call = std::move(queue_->calls.front());
  queue_->calls.pop_front();
  lock.unlock();
  call();
  lock.lock();
  queue_->changed.notify_all();
  return true;
}

bool DeviceThread::AskForOldest(std::unique_lock<std::mutex>& lock) {
  if (queue_->in_flight.empty()) return false;
  const std::shared_ptr<StepJob> job = queue_->in_flight.front();
  lock.unlock();
  const DeviceStatus status = job->tensor->Poll();
  lock.lock();
  if (status == DeviceStatus::kNotReady) return false;
  if (status != DeviceStatus::kOk) {
    // An event that cannot be asked about says that something before it failed.
    Die({absl::StatusCode::kUnavailable, absl::StrCat("cuda engine: a batch on the GPU: ", NameOf(status))});
    return true;
  }
  queue_->in_flight.pop_front();
  if (job->abandoned) {
    job->tensor.reset();
    Finish(job, State::kDone);
  } else {
    queue_->arrived.push_back(job);
    Finish(job, State::kArrived);
  }
  return true;
}

bool DeviceThread::BeginNext(std::unique_lock<std::mutex>& lock) {
  if (queue_->queued.empty()) return false;
  std::optional<LazyTensor> slot = pipeline_->TakeSlot();
  if (!slot.has_value()) {
    // Whoever keeps results without looking at them must not stop the engine: they move out of the pinned
    // memory.
    if (queue_->arrived.empty()) return false;
    ReadAnswer(*queue_, std::shared_ptr(queue_->arrived.front()), lock);
    return true;
  }
  const std::shared_ptr<StepJob> job = queue_->queued.front();
  queue_->queued.pop_front();
  job->state = State::kBeginning;
  lock.unlock();
  const Failure failure = Failure::Of(pipeline_->Begin(job->batch, *slot));
  lock.lock();
  if (!failure.failed()) {
    job->tensor.emplace(*std::move(slot));
    job->state = State::kInFlight;
    queue_->in_flight.push_back(job);
    queue_->changed.notify_all();
    return true;
  }
  job->failure = failure;
  Finish(job, State::kDone);
  if (failure.code == absl::StatusCode::kUnavailable) Die(failure);
  return true;
}

void DeviceThread::Finish(const std::shared_ptr<StepJob>& job, State state) {
  job->state = state;
  --queue_->unfinished;
  queue_->changed.notify_all();
}

void DeviceThread::Die(const Failure& why) {
  queue_->dead = why;
  for (auto* jobs : {&queue_->in_flight, &queue_->queued}) {
    for (const auto& job : *jobs) {
      job->failure = why;
      job->tensor.reset();
      Finish(job, State::kDone);
    }
    jobs->clear();
  }
}

}  // namespace trellis::engine::cuda
