// Attention as the formula says, for head sizes that the tensor cores' kernel does not have, and to compare
// it with. A warp takes one query after the other, 32 keys at a time: first a key to each lane, then the
// numbers of the values' vectors.
#include "serve/engine/cuda/kernels/attention_tile.h"
#include "serve/engine/cuda/kernels/half.h"
#include "serve/engine/cuda/kernels/warp.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kReferenceWarps = 4;
inline constexpr int kReferenceThreads = kReferenceWarps * kWarp;

template <HalfType kType>
SIMT_DEVICE float Score(const Bits16* query, const Bits16* key, int size) {
  float sum = 0;
  for (int i = 0; i < size; ++i) sum += Wide<kType>(query[i]) * Wide<kType>(key[i]);
  return sum;
}

// `weights` is the warp's own, 32 floats.
template <HalfType kType>
SIMT_DEVICE void AttendFrom(int query, const AttentionTile& tile, int size, float scale_log2,
                            float* weights) {
  constexpr int kParts = kReferenceHeadSize / kWarp;
  const Bits16* const vector = tile.queries + static_cast<size_t>(query) * tile.stride;
  float sums[kParts] = {};
  float most = -Infinity(), weight_sum = 0;
  for (int first = 0; first < tile.length; first += kWarp) {
    const int key = first + Lane();
    float score = -Infinity();
    if (key < tile.length)
      score = Score<kType>(vector, tile.keys + static_cast<size_t>(key) * tile.stride, size);
    const float top = WarpMax(fmaxf(most, score));
    const float shrink = Exp2((most - top) * scale_log2), weight = Exp2((score - top) * scale_log2);
    most = top;
    weight_sum = weight_sum * shrink + WarpSum(weight);
    weights[Lane()] = weight;
    WarpBarrier();
    const int count = tile.length - first < kWarp ? tile.length - first : kWarp;
    SIMT_UNROLL
    for (int p = 0; p < kParts; ++p) {
      const int column = p * kWarp + Lane();
      if (column >= size) break;
      const Bits16* value = tile.values + static_cast<size_t>(first) * tile.stride + column;
      sums[p] *= shrink;
      for (int i = 0; i < count; ++i, value += tile.stride) sums[p] += weights[i] * Wide<kType>(*value);
    }
    WarpBarrier();  // before the next weights
  }
  SIMT_UNROLL
  for (int p = 0; p < kParts; ++p) {
    const int column = p * kWarp + Lane();
    if (column >= size) break;
    tile.out[static_cast<size_t>(query) * tile.out_stride + static_cast<size_t>(column)] =
        Narrow<kType>(sums[p] / weight_sum);
  }
}

template <HalfType kType>
SIMT_KERNEL(kReferenceThreads, 1)
ReferenceAttentionKernel(AttentionArgs args) {
  SIMT_SHARED(float, weights, kReferenceThreads);
  const AttentionTile tile = TileOfBlock(args);
  const int end = tile.first + kTileQueries < tile.length ? tile.first + kTileQueries : tile.length;
  for (int query = tile.first + Warp(); query < end; query += kReferenceWarps) {
    AttendFrom<kType>(query, tile, args.head_size, args.scale * kLog2OfE, weights + Warp() * kWarp);
  }
}

}  // namespace kernels

void LaunchReferenceAttention(Stream stream, const AttentionArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    Start("ReferenceAttention", ReferenceAttentionKernel<type()>, {args.tiles, args.heads}, kReferenceThreads,
          stream, args);
  });
}

}  // namespace trellis::engine::cuda
