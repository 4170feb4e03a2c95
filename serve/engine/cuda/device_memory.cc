#include "serve/engine/cuda/device_memory.h"

#include "serve/engine/cuda/device_error.h"

namespace trellis::engine::cuda {

absl::Status DeviceMemory::Allocate(size_t bytes, const std::string& what, Buffer& out) {
  auto status = DeviceError(device_.Allocate(bytes, &out), what, bytes);
  if (status.ok()) buffers_.push_back(out);
  return status;
}

absl::Status DeviceMemory::AllocatePinned(size_t bytes, const std::string& what, Buffer& out) {
  auto status = DeviceError(device_.AllocatePinned(bytes, &out), what, bytes);
  if (status.ok()) buffers_.push_back(out);
  return status;
}

}  // namespace trellis::engine::cuda
