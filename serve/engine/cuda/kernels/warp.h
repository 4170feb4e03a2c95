// What the 32 lanes of a warp make together. Every lane gets the result, and the same bits of it.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_WARP_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_WARP_H_

#include "serve/engine/cuda/kernels/simt.h"

namespace trellis::engine::cuda::kernels {

template <typename T>
SIMT_DEVICE T WarpSum(T value, Site site = {}) {
  SIMT_UNROLL
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += ShuffleXor(value, lanes, site);
  return value;
}

// What is not a number is passed over.
SIMT_DEVICE float WarpMax(float value, Site site = {}) {
  SIMT_UNROLL
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value = fmaxf(value, ShuffleXor(value, lanes, site));
  return value;
}

// The factor that brings a vector to length 1, of its squares' sum: 1 for a vector of zeros. In double, as
// the CPU engine does it: small vectors have squares that no float can hold.
SIMT_DEVICE float ScaleOf(double squares) {
  return squares == 0 ? 1.0f : static_cast<float>(1.0 / sqrt(squares));
}

}  // namespace trellis::engine::cuda::kernels

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_WARP_H_
