// A checkpoint's tensors onto the GPU, as float or rounded to 16 bits there, a piece at a time through pinned
// memory.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_WEIGHT_UPLOAD_H_
#define TRELLIS_SERVE_ENGINE_CUDA_WEIGHT_UPLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/device_memory.h"
#include "serve/engine/cuda/half_type.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cuda {

// On the device's thread. Each call allocates from `memory` and returns once the tensor is there. An error
// names the tensor.
class WeightUpload {
 public:
  enum class As : uint8_t { kFloat, kHalf };

  // All outlive this.
  WeightUpload(Device& device, StreamId stream, HalfType type, DeviceMemory& memory)
      : device_(device), stream_(stream), type_(type), memory_(memory), pieces_(device) {}

  // Tensors of one shape, end to end. Vectors: `columns` 0.
  absl::Status Read(const Weights& weights, const std::vector<std::string>& names, int32_t rows,
                    int32_t columns, As as, Buffer& out);

 private:
  absl::Status Reserve();
  absl::Status Send(const Tensor& tensor, As as, Buffer to);
  DeviceStatus SendPiece(size_t count, As as, Buffer to);

  Device& device_;
  const StreamId stream_;
  const HalfType type_;
  DeviceMemory& memory_;
  DeviceMemory pieces_;
  Buffer pinned_, floats_, halves_;  // of a piece
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_WEIGHT_UPLOAD_H_
