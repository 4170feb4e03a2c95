#include "serve/server/row_replies.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/server/requests.h"

namespace trellis::server {
namespace {

using engine::Task;

struct FixedResult : engine::LazyResult {
  struct Row {
    absl::StatusCode code = absl::StatusCode::kOk;
    std::vector<float> values;
    std::vector<int32_t> indices;
  };
  std::vector<Row> rows;

  bool Ready() const override { return true; }
  absl::Status Wait() override { return absl::OkStatus(); }
  engine::RowValues row(size_t i) const override { return {rows[i].code, rows[i].values, rows[i].indices}; }
};

engine::EngineLimits Limits() {
  engine::EngineLimits limits;
  limits.dimensions = 3;
  limits.labels = 2;
  return limits;
}

RowReply CollectOne(FixedResult::Row row, engine::RowTask task, int32_t tokens) {
  Request request = RequestOfLengths({1, tokens});
  request.rows[1] = task;
  FixedResult result;
  result.rows = {std::move(row)};
  const std::vector<RowRef> refs = {{1, &request, 1, {}}};
  return CollectReplies(result, refs, Limits())[0];
}
engine::RowTask Asks(Task task, int32_t dimensions = 0) {
  return {task, engine::Pooling::kModel, engine::Normalize::kNone, dimensions};
}

TEST(RowReplies, CopiesValuesThatHaveTheTasksSize) {
  EXPECT_EQ(CollectOne({{}, {1, 2, 3}, {}}, Asks(Task::kEmbed), 5).values, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(CollectOne({{}, {1, 2}, {}}, Asks(Task::kEmbed, 2), 5).values, (std::vector<float>{1, 2}));
  EXPECT_EQ(CollectOne({{}, {1, 2, 3, 4}, {}}, Asks(Task::kEmbedAll, 2), 2).values,
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(CollectOne({{}, {1, 2}, {}}, Asks(Task::kClassify), 5).values, (std::vector<float>{1, 2}));
  const RowReply sparse = CollectOne({{}, {1, 2}, {7, 9}}, Asks(Task::kSparse), 5);
  EXPECT_EQ(sparse.values, (std::vector<float>{1, 2}));
  EXPECT_EQ(sparse.indices, (std::vector<int32_t>{7, 9}));
}

TEST(RowReplies, AnotherSizeFailsTheRow) {
  for (const RowReply& reply : {CollectOne({{}, {1, 2}, {}}, Asks(Task::kEmbed), 5),
                                CollectOne({{}, {1, 2, 3}, {}}, Asks(Task::kEmbedAll), 2),
                                CollectOne({{}, {1}, {}}, Asks(Task::kClassify), 5),
                                CollectOne({{}, {1}, {7, 9}}, Asks(Task::kSparse), 5)}) {
    EXPECT_EQ(reply.status.code(), absl::StatusCode::kInternal);
    EXPECT_TRUE(reply.values.empty());
  }
  EXPECT_EQ(CollectOne({{}, {1, 2}, {}}, Asks(Task::kEmbed), 5).status.message(),
            "row 1: the engine gave 2 values, expected 3");
}

TEST(RowReplies, TheEnginesCodeFailsTheRow) {
  const RowReply reply = CollectOne({absl::StatusCode::kOutOfRange, {}, {}}, Asks(Task::kEmbed), 5);
  EXPECT_EQ(reply.status, absl::OutOfRangeError("row 1: the engine failed on it"));
}

TEST(RowReplies, NonFiniteValuesFailTheRow) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    const RowReply reply = CollectOne({{}, {1, bad, 3}, {}}, Asks(Task::kEmbed), 5);
    EXPECT_EQ(reply.status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(reply.status.message().find("row 1: value 1 is "), 0u) << reply.status;
    EXPECT_TRUE(reply.values.empty());
  }
}

TEST(RowReplies, FirstNonFiniteAtEveryPlace) {
  for (size_t size : {0, 1, 255, 256, 257, 1000}) {
    std::vector<float> values(size, -1.5f);
    if (size > 0) values[size - 1] = std::numeric_limits<float>::max();
    EXPECT_EQ(FirstNonFinite(values), size);
    for (size_t i = 0; i < size; ++i) {
      const float was = std::exchange(values[i], std::numeric_limits<float>::quiet_NaN());
      EXPECT_EQ(FirstNonFinite(values), i);
      values[i] = was;
    }
  }
}

}  // namespace
}  // namespace trellis::server
