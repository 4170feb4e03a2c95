// A device's answer as an absl::Status, naming what was wanted.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_DEVICE_ERROR_H_
#define TRELLIS_SERVE_ENGINE_CUDA_DEVICE_ERROR_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

// Unavailable: the device is dead. ResourceExhausted: memory; `bytes` is how much was wanted. Internal:
// anything else.
absl::Status DeviceError(DeviceStatus status, const std::string& what, size_t bytes = 0);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_DEVICE_ERROR_H_
