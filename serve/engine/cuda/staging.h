// A batch as the GPU gets it: one block, one copy. The block of a bucket has the same layout on the host and
// on the GPU, and the kernels of a bucket find its columns always in the same place.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_STAGING_H_
#define TRELLIS_SERVE_ENGINE_CUDA_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "serve/engine/cuda/bucket.h"
#include "serve/engine/cuda/buffer.h"
#include "serve/engine/cuda/tile_map.h"
#include "serve/engine/engine.h"
#include "serve/engine/model_config.h"

namespace trellis::engine::cuda {

class StagingLayout {
 public:
  // `row_bytes`: what the model's heads want to know of each row, in a form of their own.
  StagingLayout(Bucket bucket, size_t row_bytes);

  Bucket bucket() const { return bucket_; }
  size_t bytes() const { return bytes_; }

  // The columns of a block.
  Buffer ids(Buffer block) const { return block.Part(ids_, token_bytes()); }              // int32_t [tokens]
  Buffer positions(Buffer block) const { return block.Part(positions_, token_bytes()); }  // int32_t [tokens]
  Buffer types(Buffer block) const { return block.Part(types_, token_bytes()); }          // int32_t [tokens]
  Buffer cu_seqlens(Buffer block) const;  // int32_t [rows + 1]
  Buffer tiles(Buffer block) const;       // QueryTile [TilesOf]
  Buffer rows(Buffer block) const;        // [rows], as the heads have it

 private:
  size_t token_bytes() const { return static_cast<size_t>(bucket_.tokens) * sizeof(int32_t); }

  Bucket bucket_;
  size_t row_bytes_;
  size_t ids_ = 0, positions_ = 0, types_ = 0, cu_seqlens_ = 0, tiles_ = 0, rows_ = 0, bytes_ = 0;
};

// All columns but `rows`, whose bytes become 0. Rows that fill up the bucket are empty and lie at the end;
// tokens that fill it up have id, position and type 0, which every table has.
void PackBatch(const PackedBatch& batch, const ModelConfig& config, const StagingLayout& layout,
               Buffer block);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_STAGING_H_
