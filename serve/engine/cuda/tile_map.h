// Which block of the attention kernel does what. The kernel's grid must not depend on the rows' lengths,
// since a captured launch serves every batch of its bucket; so the host uploads, beside the lengths, a list
// of tiles.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_TILE_MAP_H_
#define TRELLIS_SERVE_ENGINE_CUDA_TILE_MAP_H_

#include <cstdint>
#include <span>

#include "serve/engine/cuda/bucket.h"
#include "serve/engine/cuda/query_tile.h"

namespace trellis::engine::cuda {

// As many as a batch of this bucket can need: each row has at most one tile that is not full.
inline constexpr int32_t TilesOf(Bucket bucket) { return bucket.rows + bucket.tokens / kTileQueries; }

// `cu_seqlens` is a batch's; `tiles` has TilesOf its bucket. What is not needed is row -1.
void FillTiles(std::span<const int32_t> cu_seqlens, std::span<QueryTile> tiles);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_TILE_MAP_H_
