// Padding of packed rows; what a padded row looks like is in the goldens.
#include "trellis/padding.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/tokenizer/small_specs.h"

namespace trellis {
namespace {

struct Packed {
  std::vector<TokenId> ids = {1, 2, 3, 4, 5};
  std::vector<uint8_t> type_ids = {0, 0, 1, 1, 1};
  std::vector<int32_t> ends = {0, 2, 2, 5};
  Encoding encoding() const { return {.ids = ids, .type_ids = type_ids, .cu_seqlens = ends}; }
};

TEST(Padding, LengthIsTheLongestOrFixedAndAMultiple) {
  const std::vector<int32_t> ends = {0, 2, 2, 5};
  EXPECT_EQ(PaddedLength(ends, {}), 3u);
  EXPECT_EQ(PaddedLength(ends, {.multiple_of = 4}), 4u);
  EXPECT_EQ(PaddedLength(ends, {.length = 2}), 2u);
  EXPECT_EQ(PaddedLength(ends, {.length = 9, .multiple_of = 8}), 16u);
  EXPECT_EQ(PaddedLength(ends, {.length = 8, .multiple_of = 8}), 8u);
  EXPECT_EQ(PaddedLength(ends, {.length = 0, .multiple_of = 8}), 0u);
  EXPECT_EQ(PaddedLength(ends, {.length = SIZE_MAX, .multiple_of = 8}), SIZE_MAX);
  EXPECT_EQ(PaddedLength({}, {}), 0u);
  EXPECT_EQ(PaddedTokens(ends, 3), 9u);
  EXPECT_EQ(PaddedTokens(ends, 2), 7u);
}

TEST(Padding, RowsOnEitherSide) {
  const Packed packed;
  std::vector<TokenId> ids(9);
  std::vector<uint8_t> type_ids(9), attention(9);
  std::vector<int32_t> ends(4);
  const PaddedBuffer buffer{.ids = ids, .type_ids = type_ids, .attention_mask = attention, .cu_seqlens = ends};
  ASSERT_TRUE(PadRows(packed.encoding(), 3, {.id = 9, .type_id = 7}, buffer).ok());
  EXPECT_EQ(ids, (std::vector<TokenId>{1, 2, 9, 9, 9, 9, 3, 4, 5}));
  EXPECT_EQ(type_ids, (std::vector<uint8_t>{0, 0, 7, 7, 7, 7, 1, 1, 1}));
  EXPECT_EQ(attention, (std::vector<uint8_t>{1, 1, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(ends, (std::vector<int32_t>{0, 3, 6, 9}));
  ASSERT_TRUE(PadRows(packed.encoding(), 3, {.side = Side::kLeft, .id = 9}, buffer).ok());
  EXPECT_EQ(ids, (std::vector<TokenId>{9, 1, 2, 9, 9, 9, 3, 4, 5}));
  EXPECT_EQ(attention, (std::vector<uint8_t>{0, 1, 1, 0, 0, 0, 1, 1, 1}));
  // A row that is too long stays: seven tokens then.
  const auto ragged = PadRows(packed.encoding(), 2, {.id = 9}, buffer);
  ASSERT_TRUE(ragged.ok());
  EXPECT_EQ(std::vector<TokenId>(ragged->ids.begin(), ragged->ids.end()), (std::vector<TokenId>{1, 2, 9, 9, 3, 4, 5}));
  EXPECT_EQ(ends, (std::vector<int32_t>{0, 2, 4, 7}));
}

TEST(Padding, Refusals) {
  const Packed packed;
  std::vector<TokenId> ids(9);
  std::vector<Offset> offsets(9);
  std::vector<uint8_t> mask(9);
  const auto code = [&](const PaddedBuffer& buffer, size_t length = 3) {
    return PadRows(packed.encoding(), length, {}, buffer).status().code();
  };
  EXPECT_EQ(code({.ids = ids}), absl::StatusCode::kOk);
  EXPECT_EQ(code({.ids = std::span(ids).first(8)}), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code({.ids = ids}, SIZE_MAX), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code({.ids = ids, .offsets = offsets}), absl::StatusCode::kInvalidArgument) << "no such column";
  EXPECT_EQ(code({.ids = ids, .attention_mask = std::span(mask).first(8)}), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace trellis
