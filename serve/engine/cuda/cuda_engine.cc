#include "serve/engine/cuda/cuda_engine.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/contract_check.h"

namespace trellis::engine::cuda {
namespace {

class CudaEngine : public Engine {
 public:
  explicit CudaEngine(std::unique_ptr<DeviceThread> thread) : thread_(std::move(thread)) {}

  const EngineLimits& limits() const override { return thread_->limits(); }
  absl::StatusOr<std::unique_ptr<LazyResult>> Step(const PackedBatch& batch) override {
    // Costs next to nothing here, and on the GPU an id out of range would poison the device.
    if (const std::string breach = BatchBreach(batch, limits()); !breach.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("cuda engine: ", breach));
    }
    return thread_->Post(batch);
  }

 private:
  const std::unique_ptr<DeviceThread> thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> CreateCudaEngine(DeviceSetup setup) {
  auto thread = DeviceThread::Start(std::move(setup));
  if (!thread.ok()) return thread.status();
  return std::make_unique<CudaEngine>(*std::move(thread));
}

}  // namespace trellis::engine::cuda
