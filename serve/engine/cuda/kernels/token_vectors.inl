// Vectors of single tokens, for rows that ask for all of theirs.
#include "serve/engine/cuda/kernels/half.h"
#include "serve/engine/cuda/kernels/warp.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kVectorWarps = 4;
inline constexpr int kVectorThreads = kVectorWarps * kWarp;
// A tile is several blocks': one long row alone should fill the GPU.
inline constexpr int kBlocksOfTile = 4;

template <HalfType kType, int kWidth>
SIMT_DEVICE void WriteToken(const Bits16* state, int size, RowWork work, float* out) {
  const int kept = work.dimensions > 0 ? work.dimensions : size;
  float values[kWidth];
  float scale = 1;
  if (work.scale_to_one != 0) {
    double squares = 0;
    for (int column = Lane() * kWidth; column < kept; column += kWarp * kWidth) {
      Load<kType>(state + column, values);
      SIMT_UNROLL
      for (int i = 0; i < kWidth; ++i) {
        if (column + i < kept) squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
      }
    }
    scale = ScaleOf(WarpSum(squares));
  }
  for (int column = Lane() * kWidth; column < size; column += kWarp * kWidth) {
    Load<kType>(state + column, values);
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) values[i] = column + i < kept ? values[i] * scale : 0.0f;
    StoreFloats(values, out + column);
  }
}

template <HalfType kType, int kWidth>
SIMT_KERNEL(kVectorThreads, 1)
TokenVectorsKernel(TokenVectorsArgs args) {
  const QueryTile tile = args.tile_map[BlockX()];
  if (tile.row < 0) return;
  const RowWork work = args.work[tile.row];
  if (work.every_token == 0) return;
  const int row_end = args.cu_seqlens[tile.row + 1], begin = args.cu_seqlens[tile.row] + tile.first;
  const int end = begin + kTileQueries < row_end ? begin + kTileQueries : row_end;
  for (int token = begin + BlockY() * kVectorWarps + Warp(); token < end;
       token += kBlocksOfTile * kVectorWarps) {
    const size_t at = static_cast<size_t>(token) * static_cast<size_t>(args.size);
    WriteToken<kType, kWidth>(args.states + at, args.size, work, args.out + at);
  }
}

}  // namespace kernels

void LaunchTokenVectors(Stream stream, const TokenVectorsArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    WithWidth(args.size, [&](auto width) {
      Start("TokenVectors", TokenVectorsKernel<type(), width()>, {args.tiles, kBlocksOfTile}, kVectorThreads,
            stream, args);
    });
  });
}

}  // namespace trellis::engine::cuda
