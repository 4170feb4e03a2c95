#include "serve/engine/cuda/staging.h"

#include <algorithm>

#include "serve/engine/cpu/positions.h"

namespace trellis::engine::cuda {
namespace {

// `values`, and `filling` after them up to the column's end.
std::span<int32_t> Fill(Buffer column, std::span<const int32_t> values, int32_t filling) {
  const std::span<int32_t> all(column.as<int32_t>(), column.size / sizeof(int32_t));
  const auto rest = std::copy(values.begin(), values.end(), all.begin());
  std::fill(rest, all.end(), filling);
  return all;
}

}  // namespace

StagingLayout::StagingLayout(Bucket bucket, size_t row_bytes) : bucket_(bucket), row_bytes_(row_bytes) {
  const auto place = [this](size_t& column, size_t bytes) {
    column = bytes_;
    bytes_ = Aligned(bytes_ + bytes);
  };
  place(ids_, token_bytes());
  place(positions_, token_bytes());
  place(types_, token_bytes());
  place(cu_seqlens_, cu_seqlens({}).size);
  place(tiles_, tiles({}).size);
  place(rows_, rows({}).size);
}

Buffer StagingLayout::cu_seqlens(Buffer block) const {
  return block.Part(cu_seqlens_, static_cast<size_t>(bucket_.rows + 1) * sizeof(int32_t));
}

Buffer StagingLayout::tiles(Buffer block) const {
  return block.Part(tiles_, static_cast<size_t>(TilesOf(bucket_)) * sizeof(QueryTile));
}

Buffer StagingLayout::rows(Buffer block) const {
  return block.Part(rows_, static_cast<size_t>(bucket_.rows) * row_bytes_);
}

void PackBatch(const PackedBatch& batch, const ModelConfig& config, const StagingLayout& layout,
               Buffer block) {
  Fill(layout.ids(block), batch.ids, 0);
  Fill(layout.types(block), batch.type_ids, 0);
  Fill(layout.cu_seqlens(block), batch.cu_seqlens, static_cast<int32_t>(batch.num_tokens()));
  const std::span<int32_t> positions = Fill(layout.positions(block), {}, 0);
  for (size_t row = 0; row < batch.num_rows(); ++row) {
    const auto begin = static_cast<size_t>(batch.cu_seqlens[row]);
    const size_t size = static_cast<size_t>(batch.cu_seqlens[row + 1]) - begin;
    cpu::PositionsOf(batch.ids.subspan(begin, size), config, positions.subspan(begin, size));
  }
  const Buffer tiles = layout.tiles(block);
  FillTiles(batch.cu_seqlens, {tiles.as<QueryTile>(), tiles.size / sizeof(QueryTile)});
  const Buffer rows = layout.rows(block);
  std::fill_n(rows.data, rows.size, std::byte{0});
}

}  // namespace trellis::engine::cuda
