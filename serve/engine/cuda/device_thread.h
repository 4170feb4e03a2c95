// The one thread that calls the device. CUDA's calls are cheap for the thread that owns the device and wait
// for each other elsewhere, and a capture is spoilt by what other threads do; so everybody else posts.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_DEVICE_THREAD_H_
#define TRELLIS_SERVE_ENGINE_CUDA_DEVICE_THREAD_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/cuda/forward.h"
#include "serve/engine/cuda/pipeline.h"
#include "serve/engine/cuda/step_job.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

struct DeviceSetup {
  // Both are called on the device's thread, and what they make is destroyed there.
  std::function<absl::StatusOr<std::shared_ptr<Device>>()> open;
  std::function<absl::StatusOr<std::unique_ptr<Forward>>(Device& device, StreamId stream)> load;
  PipelineOptions pipeline;
  // How often the device is asked whether the oldest batch is done. Asking costs about a microsecond.
  std::chrono::nanoseconds ask_every = std::chrono::microseconds(10);
};

class DeviceThread {
 public:
  // Opens, loads and returns; an error is that of what failed.
  static absl::StatusOr<std::unique_ptr<DeviceThread>> Start(DeviceSetup setup);
  // Results that are still there get their batches done first.
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  const EngineLimits& limits() const { return limits_; }

  // As Engine::Step. Returns before anything has been done.
  absl::StatusOr<std::unique_ptr<LazyResult>> Post(const PackedBatch& batch);

  // Runs `work` on the device's thread, between batches, and waits for it.
  absl::Status Call(const std::function<absl::Status(Pipeline& pipeline)>& work);

  GraphCounters graph_counters() const { return graph_statistics()->Read(); }
  // Lives on when this is gone.
  std::shared_ptr<const GraphStatistics> graph_statistics() const { return pipeline_->graphs().statistics(); }

 private:
  explicit DeviceThread(DeviceSetup setup);
  void Live();
  absl::Status SetUp();
  void Work(std::unique_lock<std::mutex>& lock);
  bool RunCall(std::unique_lock<std::mutex>& lock);
  bool AskForOldest(std::unique_lock<std::mutex>& lock);
  bool BeginNext(std::unique_lock<std::mutex>& lock);
  void Finish(const std::shared_ptr<StepJob>& job, StepJob::State state);
  void Die(const Failure& why);

  const DeviceSetup setup_;
  const std::shared_ptr<StepQueue> queue_;
  EngineLimits limits_;
  Failure set_up_;  // of SetUp, once set_up_done_
  bool set_up_done_ = false;

  // The thread's own. Destroyed from the last to the first.
  std::shared_ptr<Device> device_;
  std::unique_ptr<Forward> forward_;
  std::unique_ptr<Pipeline> pipeline_;
  std::thread thread_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_DEVICE_THREAD_H_
