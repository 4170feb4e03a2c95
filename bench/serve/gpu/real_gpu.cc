#include <cstdlib>
#include <string>

#include "bench/serve/gpu/gpu.h"
#include "serve/engine/cuda/cuda_device.h"

namespace trellis::engine::cuda {

const char* const kGpuKind = "cuda";

absl::StatusOr<std::shared_ptr<Device>> OpenGpu() {
  const char* const cublaslt = std::getenv("TRELLIS_CUBLASLT");
  return OpenCudaDevice(0, cublaslt != nullptr ? cublaslt : "");
}

// CUDA says so itself, where something is asked of it.
absl::Status RulesKept() { return absl::OkStatus(); }

}  // namespace trellis::engine::cuda
