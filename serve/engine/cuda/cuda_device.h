// The real GPU, by CUDA's runtime. Only with TRELLIS_CUDA; it needs no nvcc.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

// On the thread that will make all calls. `cublaslt`: as CublasLt::Open has it. FailedPrecondition says what
// is missing, a driver, the GPU or the library, and how to run without.
absl::StatusOr<std::shared_ptr<Device>> OpenCudaDevice(int ordinal, const std::string& cublaslt);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_H_
