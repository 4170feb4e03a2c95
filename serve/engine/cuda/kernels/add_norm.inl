// What follows attention and the second product of a layer: the branch added to the states, and LayerNorm.
#include "serve/engine/cuda/kernels/layer_norm.h"

namespace trellis::engine::cuda {
namespace kernels {

template <HalfType kType, int kWidth, int kVectors>
SIMT_KERNEL(kNormThreads, 1)
AddNormKernel(AddNormArgs args) {
  const int token = BlockX() * kTokensOfBlock + Warp();
  if (token >= args.tokens) return;
  const size_t begin = static_cast<size_t>(token) * static_cast<size_t>(args.hidden);
  Bits16* const states = args.states + begin;
  float values[kVectors][kWidth] = {};
  SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int column = ColumnOf<kWidth>(v);
    if (column >= args.hidden) continue;
    float branch[kWidth];
    Load<kType>(states + column, values[v]);
    Load<kType>(args.branch + begin + column, branch);
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) values[v][i] += branch[i];
  }
  NormalizeRow<kType>(values, args.hidden, args.gamma, args.beta, args.epsilon, states);
}

}  // namespace kernels

void LaunchAddNorm(Stream stream, const AddNormArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    WithWidth(args.hidden, [&](auto width) {
      WithVectors<width()>(args.hidden, [&](auto vectors) {
        Start("AddNorm", AddNormKernel<type(), width(), vectors()>, {Ceiling(args.tokens, kTokensOfBlock)},
              kNormThreads, stream, args);
      });
    });
  });
}

}  // namespace trellis::engine::cuda
