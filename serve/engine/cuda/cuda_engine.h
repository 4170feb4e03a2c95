// The engine of engine.h on a GPU.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_ENGINE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_ENGINE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/device_thread.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

// As many batches in flight as the model's limits say; what a batch breaks of the contract is refused before
// the device's thread hears of it.
class CudaEngine : public Engine {
 public:
  explicit CudaEngine(std::unique_ptr<DeviceThread> thread) : thread_(std::move(thread)) {}

  const EngineLimits& limits() const override { return thread_->limits(); }
  absl::StatusOr<std::unique_ptr<LazyResult>> Step(const PackedBatch& batch) override;

  DeviceThread& thread() { return *thread_; }

 private:
  const std::unique_ptr<DeviceThread> thread_;
};

absl::StatusOr<std::unique_ptr<CudaEngine>> CreateCudaEngine(DeviceSetup setup);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_ENGINE_H_
