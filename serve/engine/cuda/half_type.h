// The two kinds of 16-bit numbers that weights and activations may have on the GPU.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_HALF_TYPE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_HALF_TYPE_H_

#include <cstdint>

namespace trellis::engine::cuda {

enum class HalfType : uint8_t { kBf16, kF16 };

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_HALF_TYPE_H_
