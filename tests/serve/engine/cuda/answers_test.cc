// What a row gets of the pinned memory, by numbers put there by hand.
#include "serve/engine/cuda/answers.h"

#include <cstring>

#include "gtest/gtest.h"

namespace trellis::engine::cuda {
namespace {

using Floats = std::vector<float>;
using Ids = std::vector<int32_t>;

TEST(ReadAnswers, TokenWeightsOfARow) {
  AnswerLayout layout;
  layout.embed_size = 2;
  layout.token_weights = true;
  layout.Place(/*rows=*/2, /*tokens=*/8);
  std::vector<std::byte> pinned(layout.bytes);
  // The first row: special tokens (0 to 3), a weight below zero, one of zero, and an id that comes twice.
  const Ids ids{0, 3, 9, 4, 7, 9, 5, 6}, starts{0, 6, 8};
  const Floats weights{8, 8, 3, -1, 0, 1, 0.5f, 2};
  std::memcpy(pinned.data() + layout.weights, weights.data(), weights.size() * sizeof(float));
  const std::vector<RowTask> tasks(2, RowTask{Task::kSparse, Pooling::kModel, Normalize::kNone, 0});
  const auto rows = ReadAnswers(layout, {ids, {}, starts, tasks}, pinned);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].indices, Ids{9});
  EXPECT_EQ(rows[0].values, Floats{3});
  EXPECT_EQ(rows[1].indices, (Ids{5, 6}));
  EXPECT_EQ(rows[1].values, (Floats{0.5f, 2}));
}

}  // namespace
}  // namespace trellis::engine::cuda
