// What a block of any attention kernel works on: up to 64 queries of one row, one head.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_ATTENTION_TILE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_ATTENTION_TILE_H_

#include "serve/engine/cuda/kernels/simt.h"

namespace trellis::engine::cuda::kernels {

struct AttentionTile {
  int first;                              // query, within the row
  int length;                             // of the row; 0: there is nothing to do, for the whole block
  size_t stride;                          // from a token to the next, in each of these
  const Bits16 *queries, *keys, *values;  // of the row's first token
  size_t out_stride;
  Bits16* out;
};

SIMT_DEVICE AttentionTile TileOfBlock(const AttentionArgs& args) {
  const QueryTile place = args.tile_map[BlockX()];
  const bool idle = place.row < 0;
  const int begin = idle ? 0 : args.cu_seqlens[place.row], length = idle ? 0 : args.cu_seqlens[place.row + 1] - begin;
  const auto size = static_cast<size_t>(args.head_size), head = static_cast<size_t>(BlockY()) * size;
  AttentionTile tile;
  tile.first = place.first;
  tile.length = place.first < length ? length : 0;
  tile.out_stride = static_cast<size_t>(args.heads) * size;
  tile.stride = 3 * tile.out_stride;
  // Also of idle tiles: pointers that may be null, too, would no longer be known to point into the device's memory.
  tile.queries = args.qkv + static_cast<size_t>(begin) * tile.stride + head;
  tile.keys = tile.queries + tile.out_stride;
  tile.values = tile.keys + tile.out_stride;
  tile.out = args.out + static_cast<size_t>(begin) * tile.out_stride + head;
  return tile;
}

// Softmax's exponentials are powers of two, which the GPU has an instruction for.
inline constexpr float kLog2OfE = 1.44269504f;

}  // namespace trellis::engine::cuda::kernels

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_ATTENTION_TILE_H_
