// LayerNorm of one token by one warp, whose lanes hold the token's numbers: lane l the vectors l, l + 32, ...
// of its row.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_LAYER_NORM_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_LAYER_NORM_H_

#include "serve/engine/cuda/kernels/half.h"
#include "serve/engine/cuda/kernels/warp.h"

namespace trellis::engine::cuda::kernels {

// A few warps a block, so that small batches reach many processors.
inline constexpr int kTokensOfBlock = 4;
inline constexpr int kNormThreads = kTokensOfBlock * kWarp;

template <int kWidth>
SIMT_DEVICE int ColumnOf(int vector) {
  return (vector * kWarp + Lane()) * kWidth;
}

// out = (values - mean) / sqrt(variance + epsilon) * gamma + beta. What lies past the row's end is 0 in
// `values`.
template <HalfType kType, int kWidth, int kVectors>
SIMT_DEVICE void NormalizeRow(const float (&values)[kVectors][kWidth], int hidden, const float* gamma,
                              const float* beta, float epsilon, Bits16* out) {
  float sum = 0;
  SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) sum += values[v][i];
  }
  const float mean = WarpSum(sum) / static_cast<float>(hidden);
  // By the differences: squares of the values themselves would lose what distinguishes them.
  float squares = 0;
  SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    if (ColumnOf<kWidth>(v) >= hidden) continue;
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float difference = values[v][i] - mean;
      squares += difference * difference;
    }
  }
  const float scale = RootOfInverse(WarpSum(squares) / static_cast<float>(hidden) + epsilon);
  SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int column = ColumnOf<kWidth>(v);
    if (column >= hidden) continue;
    float normalized[kWidth], factors[kWidth], shifts[kWidth];
    LoadFloats(gamma + column, factors);
    LoadFloats(beta + column, shifts);
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) normalized[i] = (values[v][i] - mean) * scale * factors[i] + shifts[i];
    Store<kType>(normalized, out + column);
  }
}

// Vectors a lane holds for rows of `hidden` numbers, as a constant: few kernels, few idle registers.
template <int kWidth, typename Do>
void WithVectors(int hidden, const Do& act) {
  const int vectors = Ceiling(hidden, kWarp * kWidth);
  if constexpr (kWidth == 1) {
    if (vectors <= 4) return act(std::integral_constant<int, 4>{});
    return act(std::integral_constant<int, kMostOddHidden / kWarp>{});
  } else {
    if (vectors <= 1) return act(std::integral_constant<int, 1>{});
    if (vectors <= 2) return act(std::integral_constant<int, 2>{});
    if (vectors <= 3) return act(std::integral_constant<int, 3>{});
    if (vectors <= 4) return act(std::integral_constant<int, 4>{});
    return act(std::integral_constant<int, kMostHidden / kWarp / kWidth>{});
  }
}

}  // namespace trellis::engine::cuda::kernels

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_LAYER_NORM_H_
