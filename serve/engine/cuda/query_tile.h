// What one block of an attention kernel works on, as the host says it.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_QUERY_TILE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_QUERY_TILE_H_

#include <cstdint>

namespace trellis::engine::cuda {

inline constexpr int32_t kTileQueries = 64;

// kTileQueries tokens of a row, from its token `first` on, or what is left of it. Row -1: none.
struct QueryTile {
  int32_t row = -1;
  int32_t first = 0;

  bool operator==(const QueryTile&) const = default;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_QUERY_TILE_H_
