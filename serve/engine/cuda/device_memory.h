// What a model has on the GPU, given back together.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_DEVICE_MEMORY_H_
#define TRELLIS_SERVE_ENGINE_CUDA_DEVICE_MEMORY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

// On the device's thread.
class DeviceMemory {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {}
  ~DeviceMemory() {
    for (const Buffer& buffer : buffers_) (void)device_.Free(buffer);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // The error says `what` it was for.
  absl::Status Allocate(size_t bytes, const std::string& what, Buffer& out);
  absl::Status AllocatePinned(size_t bytes, const std::string& what, Buffer& out);

 private:
  Device& device_;
  std::vector<Buffer> buffers_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_DEVICE_MEMORY_H_
