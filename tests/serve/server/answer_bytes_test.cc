#include "serve/server/answer_bytes.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace trellis::server {
namespace {

engine::EngineLimits Limits() {
  engine::EngineLimits limits;
  limits.dimensions = 8;
  limits.labels = 3;
  return limits;
}

TEST(ExpectedAnswerBytes, ByTask) {
  const std::vector<int32_t> bounds = {0, 5};
  const auto row = [&](engine::RowTask task) {
    const AnswerLength length = ExpectedAnswerBytes(Limits(), std::vector{task}, bounds);
    return std::pair(length.least - kAnswerBytes - kAnswerRowBytes,
                     length.most - kAnswerBytes - kAnswerRowBytes);
  };
  const auto both = [](int64_t bytes) { return std::pair(bytes, bytes); };
  EXPECT_EQ(row({.task = engine::Task::kEmbed}), both(8 * 4));
  EXPECT_EQ(row({.task = engine::Task::kEmbed, .dimensions = 5}), both(5 * 4));
  EXPECT_EQ(row({.task = engine::Task::kEmbed, .dimensions = 3}), both(kFailedRowBytes)) << "should it fail";
  EXPECT_EQ(row({.task = engine::Task::kEmbedAll}), both(5 * 8 * 4));
  EXPECT_EQ(row({.task = engine::Task::kEmbedAll, .dimensions = 2}), both(5 * 2 * 4));
  EXPECT_EQ(row({.task = engine::Task::kSparse}), std::pair(kFailedRowBytes, int64_t{5 * (4 + 5)}));
  EXPECT_EQ(row({.task = engine::Task::kClassify}), both(kFailedRowBytes));
  EXPECT_EQ(row({.task = engine::Task::kEmbedAll, .dimensions = std::numeric_limits<int32_t>::max()}),
            both(5 * 8 * 4))
      << "more than the model has is refused for that, not for the answer's length";
}

TEST(ExpectedAnswerBytes, MoreThan32BitsCount) {
  engine::EngineLimits limits = Limits();
  limits.dimensions = std::numeric_limits<int32_t>::max();
  const std::vector<int32_t> bounds = {0, 5};
  const std::vector<engine::RowTask> rows = {{.task = engine::Task::kEmbedAll}};
  EXPECT_EQ(ExpectedAnswerBytes(limits, rows, bounds).most,
            kAnswerBytes + kAnswerRowBytes + int64_t{5} * 4 * std::numeric_limits<int32_t>::max());
}

TEST(AnswerBytes, CountsWhatIsThere) {
  std::vector<RowReply> rows(3);
  rows[0].values.resize(10);
  rows[1].values.resize(10);
  rows[1].indices.resize(10);
  rows[2].status = absl::DataLossError("why");
  rows[2].values.resize(1000);  // never sent
  EXPECT_EQ(AnswerBytes(rows), kAnswerBytes + 3 * kAnswerRowBytes + 40 + 90 + kFailedRowBytes);
}

}  // namespace
}  // namespace trellis::server
