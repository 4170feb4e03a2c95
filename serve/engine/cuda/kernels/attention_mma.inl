// Attention by tensor cores. A block has four warps of 16 queries each; keys and values pass through shared
// memory, the next ones on their way while the present ones are worked on. Softmax is made as they come: each
// query keeps the largest score so far and the sum of its weights, and what it has is scaled down when a
// larger score comes.
#include "serve/engine/cuda/kernels/attention_tile.h"
#include "serve/engine/cuda/kernels/tensor_core.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kMmaThreads = 128;
inline constexpr int kWarpQueries = 16;

// The queries of a warp, as the tensor cores hold them: of each lane two, `group` and `group + 8`.
template <HalfType kType, int kSize>
struct MmaQueries {
  // 48 KB of shared memory is what every launch may have.
  static constexpr int kKeys = kSize > 64 ? 32 : 64;
  // Eight more, so that eight rows in sequence lie in different banks.
  static constexpr int kStride = kSize + 8;
  static constexpr int kBuffer = kKeys * kStride;

  uint32_t queries[kSize / 16][4];
  float sums[kSize / 8][4];
  float scores[kKeys / 8][4];
  float most[2], weights[2];

  // Queries past the row's end are zeros.
  SIMT_DEVICE void Begin(const AttentionTile& tile) {
    const int group = Lane() / 4, pair = Lane() % 4, first = tile.first + Warp() * kWarpQueries;
    SIMT_UNROLL
    for (int k = 0; k < kSize / 16; ++k) {
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int query = first + group + i % 2 * 8, column = k * 16 + 2 * pair + i / 2 * 8;
        queries[k][i] = 0;
        if (query >= tile.length) continue;
        queries[k][i] =
            LoadVector<uint32_t>(tile.queries + static_cast<size_t>(query) * tile.stride + column);
      }
    }
    SIMT_UNROLL
    for (int n = 0; n < kSize / 8; ++n) {
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) sums[n][i] = 0;
    }
    most[0] = most[1] = -Infinity();
    weights[0] = weights[1] = 0;
  }

  // Starts the way of the keys or values from token `first` on; zeros past the row's end, so that nobody
  // else's are read.
  SIMT_DEVICE static void Fetch(const AttentionTile& tile, const Bits16* from, int first, Bits16* to) {
    constexpr int kChunks = kSize / 8;
    SIMT_UNROLL
    for (int i = Thread(); i < kKeys * kChunks; i += kMmaThreads) {
      const int row = i / kChunks, column = i % kChunks * 8;
      const bool there = first + row < tile.length;
      const size_t token = there ? static_cast<size_t>(first + row) : 0;
      CopyAsync(to + row * kStride + column, from + token * tile.stride + column, there);
    }
  }

  // scores = queries . keys; minus infinity past the row's end.
  SIMT_DEVICE void Score(const Bits16* keys, int keys_left) {
    SIMT_UNROLL
    for (int n = 0; n < kKeys / 8; ++n) {
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) scores[n][i] = 0;
      SIMT_UNROLL
      for (int k = 0; k < kSize / 32; ++k) {
        uint32_t words[4];
        LoadMatrices<false>(words, keys + (n * 8 + Lane() % 8) * kStride + k * 32 + Lane() / 8 * 8);
        MultiplyAdd<kType>(scores[n], queries[2 * k], words[0], words[1]);
        MultiplyAdd<kType>(scores[n], queries[2 * k + 1], words[2], words[3]);
      }
      if (keys_left >= kKeys) continue;
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) {
        if (n * 8 + Lane() % 4 * 2 + i % 2 >= keys_left) scores[n][i] = -Infinity();
      }
    }
  }

  // Scores become weights, relative to the largest score so far.
  SIMT_DEVICE void Soften(float scale_log2) {
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      float top = most[r];
      SIMT_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) top = fmaxf(top, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
      top = fmaxf(top, ShuffleXor(top, 1));  // the four lanes of a group have the same query
      top = fmaxf(top, ShuffleXor(top, 2));
      const float shrink = Exp2((most[r] - top) * scale_log2);  // of the first keys: 0
      most[r] = top;
      weights[r] *= shrink;
      SIMT_UNROLL
      for (int n = 0; n < kSize / 8; ++n) {
        sums[n][2 * r] *= shrink;
        sums[n][2 * r + 1] *= shrink;
      }
      SIMT_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) {
        SIMT_UNROLL
        for (int i = 2 * r; i < 2 * r + 2; ++i) {
          scores[n][i] = Exp2((scores[n][i] - top) * scale_log2);
          weights[r] += scores[n][i];
        }
      }
    }
  }

  // sums += weights . values
  SIMT_DEVICE void Add(const Bits16* values) {
    SIMT_UNROLL
    for (int k = 0; k < kKeys / 16; ++k) {
      const float(&left)[4] = scores[2 * k], (&right)[4] = scores[2 * k + 1];
      const uint32_t a[4] = {NarrowPair<kType>(left[0], left[1]), NarrowPair<kType>(left[2], left[3]),
                             NarrowPair<kType>(right[0], right[1]), NarrowPair<kType>(right[2], right[3])};
      SIMT_UNROLL
      for (int n = 0; n < kSize / 16; ++n) {
        uint32_t words[4];
        LoadMatrices<true>(words, values + (k * 16 + Lane() % 16) * kStride + n * 16 + Lane() / 16 * 8);
        MultiplyAdd<kType>(sums[2 * n], a, words[0], words[1]);
        MultiplyAdd<kType>(sums[2 * n + 1], a, words[2], words[3]);
      }
    }
  }

  // Through shared memory, where nobody reads keys any more: vectors of 16 bytes rather than words of 4.
  SIMT_DEVICE void Finish(const AttentionTile& tile, Bits16* keys) {
    const int group = Lane() / 4, pair = Lane() % 4;
    Bits16* const mine = keys + Warp() * kWarpQueries * kStride;
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      weights[r] += ShuffleXor(weights[r], 1);
      weights[r] += ShuffleXor(weights[r], 2);
      const float share = 1.0f / weights[r];
      SIMT_UNROLL
      for (int n = 0; n < kSize / 8; ++n) {
        StoreVector(mine + (group + 8 * r) * kStride + n * 8 + 2 * pair,
                    NarrowPair<kType>(sums[n][2 * r] * share, sums[n][2 * r + 1] * share));
      }
    }
    WarpBarrier();
    constexpr int kChunks = kSize / 8;
    const int first = tile.first + Warp() * kWarpQueries;
    SIMT_UNROLL
    for (int i = Lane(); i < kWarpQueries * kChunks; i += kWarp) {
      const int row = i / kChunks, column = i % kChunks * 8;
      if (first + row >= tile.length) continue;
      StoreVector(tile.out + static_cast<size_t>(first + row) * tile.out_stride + column,
                  LoadVector<Words4>(mine + row * kStride + column));
    }
  }
};

template <HalfType kType, int kSize>
SIMT_KERNEL(kMmaThreads, 0)
MmaAttentionKernel(AttentionArgs args) {
  using Queries = MmaQueries<kType, kSize>;
  constexpr int kKeys = Queries::kKeys, kBuffer = Queries::kBuffer;
  static_assert(2 * kKeys >= kTileQueries, "Finish lays all queries out in the buffers of the keys");
  SIMT_SHARED(Bits16, keys, 2 * kBuffer);
  SIMT_SHARED(Bits16, values, 2 * kBuffer);
  const AttentionTile tile = TileOfBlock(args);
  if (tile.length == 0) return;
  Queries::Fetch(tile, tile.keys, 0, keys);
  Queries::Fetch(tile, tile.values, 0, values);
  CommitCopies();
  Queries queries;
  queries.Begin(tile);
  const float scale_log2 = args.scale * kLog2OfE;
  int buffer = 0;
  for (int first = 0; first < tile.length; first += kKeys) {
    WaitForCopies<0>();
    Barrier();  // what came is seen by all, and all are done with the other buffer
    if (first + kKeys < tile.length) {
      Queries::Fetch(tile, tile.keys, first + kKeys, keys + (buffer ^ 1) * kBuffer);
      Queries::Fetch(tile, tile.values, first + kKeys, values + (buffer ^ 1) * kBuffer);
      CommitCopies();
    }
    queries.Score(keys + buffer * kBuffer, tile.length - first);
    queries.Soften(scale_log2);
    queries.Add(values + buffer * kBuffer);
    buffer ^= 1;
  }
  Barrier();
  queries.Finish(tile, keys);
}

}  // namespace kernels

void LaunchMmaAttention(Stream stream, const AttentionArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    const Grid grid{args.tiles, args.heads};
    switch (args.head_size) {
      case 32:
        return Start("MmaAttention", MmaAttentionKernel<type(), 32>, grid, kMmaThreads, stream, args);
      case 64:
        return Start("MmaAttention", MmaAttentionKernel<type(), 64>, grid, kMmaThreads, stream, args);
      case 128:
        return Start("MmaAttention", MmaAttentionKernel<type(), 128>, grid, kMmaThreads, stream, args);
    }
  });
}

}  // namespace trellis::engine::cuda
