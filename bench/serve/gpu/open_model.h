// A model's folder on the GPU, as the engine has it, with what that took.
#ifndef TRELLIS_BENCH_SERVE_GPU_OPEN_MODEL_H_
#define TRELLIS_BENCH_SERVE_GPU_OPEN_MODEL_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/cuda_encoder.h"
#include "serve/engine/cuda/device_thread.h"

namespace trellis::engine::cuda {

struct OpenModel {
  std::unique_ptr<DeviceThread> thread;
  double open_seconds = 0;  // the device and cuBLASLt
  double load_seconds = 0;  // the model
  size_t model_bytes = 0;   // of GPU memory: weights, arena, answers
};

absl::StatusOr<OpenModel> OpenOnGpu(const std::string& folder, const CudaModelOptions& options);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_BENCH_SERVE_GPU_OPEN_MODEL_H_
