// The matrix product of a linear layer: output[m, n] = input[m, k] * weight[n, k]^T + bias[n]. All are
// row-major, weights as a checkpoint has them. Sums are in float, the bias is added to the sum, and there is
// one rounding, at the end.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_GEMM_H_
#define TRELLIS_SERVE_ENGINE_CUDA_GEMM_H_

#include <compare>
#include <cstdint>

#include "serve/engine/cuda/buffer.h"
#include "serve/engine/cuda/half_type.h"

namespace trellis::engine::cuda {

enum class GemmBias : uint8_t { kNone, kThere };

struct GemmShape {
  int32_t m = 0;  // tokens, or rows: of a bucket, so that there are few
  int32_t n = 0;
  int32_t k = 0;
  HalfType type = HalfType::kBf16;  // of all four
  GemmBias bias = GemmBias::kThere;

  auto operator<=>(const GemmShape&) const = default;
};

struct GemmCall {
  GemmShape shape;
  Buffer input, weight, bias, output;
  Buffer workspace;  // one for each stream: a kernel that splits k would wait forever on what another stream
                     // writes there
};

// What Hopper's products may want; cuBLASLt picks among those that need no more.
inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_GEMM_H_
