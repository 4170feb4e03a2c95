#include "serve/engine/cuda/staging.h"

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace trellis::engine::cuda {
namespace {

using Tiles = std::vector<QueryTile>;
using Ints = std::vector<int32_t>;

Tiles TilesFor(const Ints& cu_seqlens, Bucket bucket) {
  Tiles tiles(static_cast<size_t>(TilesOf(bucket)));
  FillTiles(cu_seqlens, tiles);
  return tiles;
}

TEST(TileMap, ARowHasATileForEach64OfItsTokens) {
  const QueryTile none{};
  EXPECT_EQ(TilesFor({0, 1}, {1, 64}), (Tiles{{0, 0}, none}));
  EXPECT_EQ(TilesFor({0, 64}, {1, 64}), (Tiles{{0, 0}, none}));
  EXPECT_EQ(TilesFor({0, 65}, {1, 128}), (Tiles{{0, 0}, {0, 64}, none}));
  EXPECT_EQ(TilesFor({0, 3, 3, 133}, {4, 192}), (Tiles{{0, 0}, {2, 0}, {2, 64}, {2, 128}, none, none, none}));
}

// Whatever the lengths: every token is in one tile, and there is room for all.
TEST(TileMap, EveryTokenIsInOneTile) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Ints starts{0};
    const int rows = 1 + static_cast<int>(random() % 40);
    for (int row = 0; row < rows; ++row) {
      const int32_t length = random() % 3 == 0 ? static_cast<int32_t>(1 + random() % 2) * 64 + round % 3 - 1
                                               : static_cast<int32_t>(1 + random() % 200);
      starts.push_back(starts.back() + length);
    }
    std::set<std::pair<int32_t, int32_t>> seen;
    for (const QueryTile& tile : TilesFor(starts, BucketOf(rows, starts.back()))) {
      if (tile.row < 0) continue;
      const int32_t length =
          starts[static_cast<size_t>(tile.row) + 1] - starts[static_cast<size_t>(tile.row)];
      ASSERT_LT(tile.first, length);
      for (int32_t t = tile.first; t < std::min(length, tile.first + kTileQueries); ++t) {
        ASSERT_TRUE(seen.insert({tile.row, t}).second);
      }
    }
    ASSERT_EQ(seen.size(), static_cast<size_t>(starts.back()));
  }
}

Ints IntsOf(Buffer column) {
  return {column.as<int32_t>(), column.as<int32_t>() + column.size / sizeof(int32_t)};
}

// A batch in its block, which was full of something else.
struct Packed {
  Packed(const PackedBatch& batch, const ModelConfig& config)
      : layout(BucketOf(static_cast<int32_t>(batch.num_rows()), static_cast<int32_t>(batch.num_tokens())), 8),
        memory(layout.bytes(), std::byte{0xee}),
        block{memory.data(), memory.size()} {
    PackBatch(batch, config, layout, block);
  }
  StagingLayout layout;
  std::vector<std::byte> memory;
  Buffer block;
};

TEST(Staging, ColumnsFillTheirBucket) {
  const Ints ids{5, 6, 7, 8, 9}, types{0, 1, 0, 1, 1}, starts{0, 2, 5};
  const std::vector<RowTask> rows(2);
  const Packed packed({ids, types, starts, rows}, ModelConfig{});
  ASSERT_EQ(packed.layout.bucket(), (Bucket{4, 64}));
  const auto filled = [](Ints values, size_t size, int32_t with) {
    values.resize(size, with);
    return values;
  };
  EXPECT_EQ(IntsOf(packed.layout.ids(packed.block)), filled(ids, 64, 0));
  EXPECT_EQ(IntsOf(packed.layout.types(packed.block)), filled(types, 64, 0));
  EXPECT_EQ(IntsOf(packed.layout.positions(packed.block)), filled({0, 1, 0, 1, 2}, 64, 0));
  EXPECT_EQ(IntsOf(packed.layout.cu_seqlens(packed.block)), (Ints{0, 2, 5, 5, 5}));  // the rest is empty rows
  EXPECT_EQ(IntsOf(packed.layout.tiles(packed.block)), (Ints{0, 0, 1, 0, -1, 0, -1, 0, -1, 0}));
  EXPECT_EQ(IntsOf(packed.layout.rows(packed.block)), Ints(8, 0));
}

TEST(Staging, TypesMayBeLeftOut) {
  const Ints ids{5, 6}, starts{0, 2};
  const std::vector<RowTask> rows(1);
  const Packed packed({ids, {}, starts, rows}, ModelConfig{});
  EXPECT_EQ(IntsOf(packed.layout.types(packed.block)), Ints(64, 0));
}

// As transformers' create_position_ids_from_input_ids (modeling_roberta.py, 4.57) has it with padding 1:
// positions count from padding + 1, and padding inside a text has its own and is not counted.
TEST(Staging, PositionsSkipPaddingWhereTheModelDoes) {
  const Ints ids{0, 7, 1, 8, 2, 0, 9}, starts{0, 5, 7};
  const std::vector<RowTask> rows(2);
  ModelConfig config;
  config.positions = Positions::kSkipPadding;
  config.pad_token_id = 1;
  config.position_offset = 2;
  const Packed packed({ids, {}, starts, rows}, config);
  Ints expected{2, 3, 1, 4, 5, 2, 3};
  expected.resize(64, 0);
  EXPECT_EQ(IntsOf(packed.layout.positions(packed.block)), expected);
}

// The GPU's kernels find columns by a bucket alone, and load 16 bytes at a time.
TEST(Staging, ColumnsAreAlignedAndApartAndNoBucketIsLargerThanTheLargest) {
  const size_t most = StagingLayout(BucketOf(2048, 16384), 8).bytes();
  for (const int32_t rows : {1, 2, 7, 100, 2048}) {
    for (const int32_t tokens : {1, 64, 65, 4096, 4097, 16384}) {
      const StagingLayout layout(BucketOf(rows, tokens), 8);
      std::vector<std::byte> memory(layout.bytes());
      const Buffer block{memory.data(), memory.size()};
      std::byte* end = block.data;
      for (const Buffer& column : {layout.ids(block), layout.positions(block), layout.types(block),
                                   layout.cu_seqlens(block), layout.tiles(block), layout.rows(block)}) {
        EXPECT_EQ((column.data - block.data) % static_cast<ptrdiff_t>(kAlignment), 0);
        EXPECT_GE(column.data, end);
        end = column.data + column.size;
      }
      EXPECT_LE(end, block.data + block.size);
      EXPECT_LE(layout.bytes(), most);
    }
  }
}

}  // namespace
}  // namespace trellis::engine::cuda
