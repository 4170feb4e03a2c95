// A linear layer of a head: a warp makes one output of several rows, so that each weight that is fetched
// serves them all.
#include "serve/engine/cuda/kernels/warp.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kDenseWarps = 8;
inline constexpr int kDenseThreads = kDenseWarps * kWarp;
inline constexpr int kDenseRows = 8;

SIMT_KERNEL(kDenseThreads, 1) DenseKernel(DenseArgs args) {
  const int output = BlockX() * kDenseWarps + Warp(), first = BlockY() * kDenseRows;
  if (output >= args.out_size) return;
  const auto in = static_cast<size_t>(args.in);
  const float* const weights = args.weight + static_cast<size_t>(output) * in;
  const float* const rows = args.x + static_cast<size_t>(first) * in;
  const int count = args.rows - first < kDenseRows ? args.rows - first : kDenseRows;
  float sums[kDenseRows] = {};
  for (size_t i = static_cast<size_t>(Lane()); i < in; i += kWarp) {
    const float weight = weights[i];
    SIMT_UNROLL
    for (int r = 0; r < kDenseRows; ++r) {
      if (r < count) sums[r] += weight * rows[static_cast<size_t>(r) * in + i];
    }
  }
  const float bias = args.bias == nullptr ? 0.0f : args.bias[output];
  SIMT_UNROLL
  for (int r = 0; r < kDenseRows; ++r) {
    const float sum = WarpSum(sums[r]) + bias;
    if (r >= count || Lane() != 0) continue;
    const size_t at =
        static_cast<size_t>(first + r) * static_cast<size_t>(args.out_size) + static_cast<size_t>(output);
    args.out[at] = args.after == DenseArgs::kTanh ? tanhf(sum) : sum;
  }
}

}  // namespace kernels

void LaunchDense(Stream stream, const DenseArgs& args) {
  using namespace kernels;
  Start("Dense", DenseKernel, {Ceiling(args.out_size, kDenseWarps), Ceiling(args.rows, kDenseRows)},
        kDenseThreads, stream, args);
}

}  // namespace trellis::engine::cuda
