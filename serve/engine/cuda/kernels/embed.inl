// The first layer: word, position and type vectors of each token, added and normalized.
#include "serve/engine/cuda/kernels/layer_norm.h"

namespace trellis::engine::cuda {
namespace kernels {

template <HalfType kType, int kWidth, int kVectors>
SIMT_KERNEL(kNormThreads, 1)
EmbedKernel(EmbedArgs args) {
  const int token = BlockX() * kTokensOfBlock + Warp();
  if (token >= args.tokens) return;
  const auto hidden = static_cast<size_t>(args.hidden);
  const Bits16* const word = args.words + static_cast<size_t>(args.ids[token]) * hidden;
  const Bits16* const position = args.positions + static_cast<size_t>(args.position_ids[token]) * hidden;
  const int32_t type_id = args.type_ids == nullptr ? 0 : args.type_ids[token];
  const Bits16* const type = args.types + static_cast<size_t>(type_id) * hidden;
  float values[kVectors][kWidth] = {};
  SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int column = ColumnOf<kWidth>(v);
    if (column >= args.hidden) continue;
    float position_values[kWidth], type_values[kWidth];
    Load<kType>(word + column, values[v]);
    Load<kType>(position + column, position_values);
    Load<kType>(type + column, type_values);
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) values[v][i] += type_values[i] + position_values[i];
  }
  NormalizeRow<kType>(values, args.hidden, args.gamma, args.beta, args.epsilon,
                      args.out + static_cast<size_t>(token) * hidden);
}

}  // namespace kernels

void LaunchEmbed(Stream stream, const EmbedArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    WithWidth(args.hidden, [&](auto width) {
      WithVectors<width()>(args.hidden, [&](auto vectors) {
        Start("Embed", EmbedKernel<type(), width(), vectors()>, {Ceiling(args.tokens, kTokensOfBlock)},
              kNormThreads, stream, args);
      });
    });
  });
}

}  // namespace trellis::engine::cuda
