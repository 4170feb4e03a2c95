// The sparse head's layer: one number for each token, a warp for each.
#include "serve/engine/cuda/kernels/half.h"
#include "serve/engine/cuda/kernels/warp.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kWeightWarps = 4;
inline constexpr int kWeightThreads = kWeightWarps * kWarp;

template <HalfType kType, int kWidth>
SIMT_KERNEL(kWeightThreads, 1)
TokenWeightsKernel(TokenWeightsArgs args) {
  const int token = BlockX() * kWeightWarps + Warp();
  if (token >= args.tokens) return;
  const Bits16* const state = args.states + static_cast<size_t>(token) * static_cast<size_t>(args.hidden);
  float sum = 0;
  for (int column = Lane() * kWidth; column < args.hidden; column += kWarp * kWidth) {
    float values[kWidth], weights[kWidth];
    Load<kType>(state + column, values);
    LoadFloats(args.weight + column, weights);
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) sum += values[i] * weights[i];
  }
  sum = WarpSum(sum) + args.bias[0];
  if (Lane() == 0) args.out[token] = sum;
}

}  // namespace kernels

void LaunchTokenWeights(Stream stream, const TokenWeightsArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    WithWidth(args.hidden, [&](auto width) {
      Start("TokenWeights", TokenWeightsKernel<type(), width()>, {Ceiling(args.tokens, kWeightWarps)},
            kWeightThreads, stream, args);
    });
  });
}

}  // namespace trellis::engine::cuda
