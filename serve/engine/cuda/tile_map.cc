#include "serve/engine/cuda/tile_map.h"

#include <algorithm>
#include <cstddef>

namespace trellis::engine::cuda {

void FillTiles(std::span<const int32_t> cu_seqlens, std::span<QueryTile> tiles) {
  size_t next = 0;
  for (size_t row = 0; row + 1 < cu_seqlens.size(); ++row) {
    const int32_t length = cu_seqlens[row + 1] - cu_seqlens[row];
    for (int32_t first = 0; first < length; first += kTileQueries) {
      tiles[next++] = {static_cast<int32_t>(row), first};
    }
  }
  std::fill(tiles.begin() + static_cast<ptrdiff_t>(next), tiles.end(), QueryTile{});
}

}  // namespace trellis::engine::cuda
