#include "serve/engine/cuda/cuda_engine.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "serve/engine/contract_check.h"

namespace trellis::engine::cuda {

absl::StatusOr<std::unique_ptr<LazyResult>> CudaEngine::Step(const PackedBatch& batch) {
  // Costs next to nothing here, and on the GPU an id out of range would poison the device.
  if (const std::string breach = BatchBreach(batch, limits()); !breach.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("cuda engine: ", breach));
  }
  return thread_->Post(batch);
}

absl::StatusOr<std::unique_ptr<CudaEngine>> CreateCudaEngine(DeviceSetup setup) {
  auto thread = DeviceThread::Start(std::move(setup));
  if (!thread.ok()) return thread.status();
  return std::make_unique<CudaEngine>(*std::move(thread));
}

}  // namespace trellis::engine::cuda
