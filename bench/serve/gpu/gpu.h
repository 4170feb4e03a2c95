// The GPU that is checked: CUDA's (real_gpu.cc) or the one that is none, with the kernels emulated
// (fake_gpu.cc), on which times mean nothing. A program is linked with one of the two.
#ifndef TRELLIS_BENCH_SERVE_GPU_GPU_H_
#define TRELLIS_BENCH_SERVE_GPU_GPU_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

extern const char* const kGpuKind;  // "cuda" or "fake"

// On the thread that will make all calls. An error says what is missing.
absl::StatusOr<std::shared_ptr<Device>> OpenGpu();

// Once the device has been let go of: whether all went by CUDA's rules, as far as the device can tell.
absl::Status RulesKept();

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_BENCH_SERVE_GPU_GPU_H_
