// The measure, by vectors whose distance is known; whole engines are in warm_up_test.cc.
#include "serve/engine/cuda/comparison.h"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/synthetic/synthetic_engine.h"

namespace trellis::engine::cuda {
namespace {

using Floats = std::vector<float>;
using Ids = std::vector<int32_t>;

double Distance(Task task, const Floats& a, const Floats& b, const Ids& ids_a = {}, const Ids& ids_b = {},
                Normalize normalize = Normalize::kNone) {
  return DistanceOf({task, Pooling::kModel, normalize, 0}, {absl::StatusCode::kOk, a, ids_a},
                    {absl::StatusCode::kOk, b, ids_b});
}

TEST(DistanceOf, VectorsByTheirAngle) {
  EXPECT_NEAR(Distance(Task::kEmbed, {3, 4}, {3, 4}), 0, 1e-15);
  EXPECT_NEAR(Distance(Task::kEmbed, {6, 8}, {3, 4}), 0, 1e-15);  // the length is not looked at
  EXPECT_NEAR(Distance(Task::kEmbed, {1, 0}, {0, 2}), 1, 1e-15);
  EXPECT_NEAR(Distance(Task::kEmbedAll, {1, 1}, {-1, -1}), 2, 1e-15);
  EXPECT_NEAR(Distance(Task::kEmbed, {4, 3}, {3, 4}), 1 - 24.0 / 25, 1e-15);
  EXPECT_TRUE(std::isnan(Distance(Task::kEmbed, {0, 0}, {3, 4})));
}

TEST(DistanceOf, VectorsOfLengthOneByTheirDifference) {
  const auto scaled = [](Task task, const Floats& a, const Floats& b) {
    return Distance(task, a, b, {}, {}, Normalize::kL2);
  };
  // The angle's, where both are of length 1, up to what a float is rounded by.
  EXPECT_NEAR(scaled(Task::kEmbed, {0.8f, 0.6f}, {0.6f, 0.8f}), 1 - 24.0 / 25, 1e-7);
  EXPECT_NEAR(scaled(Task::kEmbed, {1, 0}, {0, 1}), 1, 1e-15);
  EXPECT_NEAR(scaled(Task::kEmbed, {1.25f, 0}, {1, 0}), 1.0 / 32, 1e-15);  // of the right angle alone
  EXPECT_NEAR(scaled(Task::kEmbed, {0, 0}, {1, 0}), 0.5, 1e-15);
  // Two tokens, one of them right: the mean.
  EXPECT_NEAR(scaled(Task::kEmbedAll, {1, 0, 0, 1}, {1, 0, 1, 0}), 0.5, 1e-15);
}

TEST(DistanceOf, LogitsByTheirDifference) {
  // |a - b|^2 / 2 |b|^2.
  EXPECT_NEAR(Distance(Task::kClassify, {4, 3}, {3, 4}), 2.0 / 50, 1e-15);
  EXPECT_NEAR(Distance(Task::kClassify, {-8}, {8}), 2, 1e-15);  // one logit has no angle
  // Shorter than 1: as if it were 1.
  EXPECT_NEAR(Distance(Task::kClassify, {0.25f}, {0}), 1.0 / 32, 1e-15);
}

TEST(DistanceOf, TokenWeightsById) {
  EXPECT_NEAR(Distance(Task::kSparse, {1, 2}, {1, 2}, {5, 9}, {5, 9}), 0, 1e-15);
  EXPECT_NEAR(Distance(Task::kSparse, {1, 2}, {1, 2}, {5, 9}, {5, 8}), 8.0 / 10, 1e-15);
  // One that only one of the two has counts as 0 in the other.
  EXPECT_NEAR(Distance(Task::kSparse, {3}, {3, 0.5f}, {7}, {7, 8}), 0.25 / (2 * 9.25), 1e-15);
  EXPECT_NEAR(Distance(Task::kSparse, {}, {}), 0, 1e-15);
}

TEST(CheckDifference, TheLimitAndWhatIsNoNumber) {
  Difference worst{1e-3, Task::kClassify, 2, 9, 33, 1};
  EXPECT_TRUE(CheckDifference(worst).ok());
  for (const double distance : {1.1e-3, std::numeric_limits<double>::quiet_NaN()}) {
    worst.distance = distance;
    const absl::Status status = CheckDifference(worst);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(std::string(status.message()).find("row 3 of 9 (33 tokens, classify, second run): distance "),
              std::string::npos)
        << status;
    EXPECT_NE(std::string(status.message()).find("expected at most 0.001"), std::string::npos) << status;
  }
}

// Another engine's result, with all values of some rows times a factor.
class Changed : public LazyResult {
 public:
  Changed(std::unique_ptr<LazyResult> result, std::vector<bool> rows, float factor)
      : result_(std::move(result)), rows_(std::move(rows)), factor_(factor), values_(rows_.size()) {}
  bool Ready() const override { return result_->Ready(); }
  absl::Status Wait() override {
    auto status = result_->Wait();
    for (size_t i = 0; status.ok() && i < rows_.size(); ++i) {
      const auto values = result_->row(i).values;
      values_[i].assign(values.begin(), values.end());
      for (float& value : values_[i]) value *= rows_[i] ? factor_ : 1.0f;
    }
    return status;
  }
  RowValues row(size_t index) const override {
    RowValues row = result_->row(index);
    row.values = values_[index];
    return row;
  }

 private:
  const std::unique_ptr<LazyResult> result_;
  const std::vector<bool> rows_;
  const float factor_;
  std::vector<Floats> values_;
};

// The synthetic engine, wrong in the rows of one task and one length.
class WrongInOne : public Engine {
 public:
  WrongInOne(std::unique_ptr<Engine> engine, Task task, int32_t tokens, float factor)
      : engine_(std::move(engine)), task_(task), tokens_(tokens), factor_(factor) {}
  const EngineLimits& limits() const override { return engine_->limits(); }
  absl::StatusOr<std::unique_ptr<LazyResult>> Step(const PackedBatch& batch) override {
    auto result = engine_->Step(batch);
    if (!result.ok()) return result.status();
    std::vector<bool> rows;
    for (size_t i = 0; i < batch.num_rows(); ++i) {
      rows.push_back(batch.rows[i].task == task_ && batch.cu_seqlens[i + 1] - batch.cu_seqlens[i] == tokens_);
    }
    return std::make_unique<Changed>(*std::move(result), std::move(rows), factor_);
  }

 private:
  const std::unique_ptr<Engine> engine_;
  const Task task_;
  const int32_t tokens_;
  const float factor_;
};

absl::StatusOr<Difference> WorstOf(Task task, int32_t tokens, float factor) {
  auto engine = MakeSyntheticEngine("depth=1"), reference = MakeSyntheticEngine("depth=1");
  if (!engine.ok()) return engine.status();
  if (!reference.ok()) return reference.status();
  WrongInOne wrong(*std::move(engine), task, tokens, factor);
  const int32_t lengths[] = {1, 16, 33, 40};
  return CompareEngines(wrong, **reference, lengths);
}

TEST(CompareEngines, OneWrongRowOfAnyTaskIsTheWorst) {
  for (int i = 0; i < kTasks; ++i) {
    for (const int32_t tokens : {1, 16, 33, 40}) {
      const auto worst = WorstOf(static_cast<Task>(i), tokens, -1);
      ASSERT_TRUE(worst.ok()) << worst.status();
      EXPECT_GT(worst->distance, kMostDistance) << i << ", " << tokens;
      EXPECT_EQ(static_cast<int>(worst->task), i);
      EXPECT_EQ(worst->tokens, tokens);
    }
  }
}

// The second and the fourth length are those that are scaled to 1: |2a - a|^2 / 2.
TEST(CompareEngines, AWrongScaleIsSeenWhereVectorsAreOfLengthOne) {
  for (const int32_t tokens : {16, 40}) EXPECT_NEAR(WorstOf(Task::kEmbed, tokens, 2)->distance, 0.5, 1e-6);
  for (const int32_t tokens : {1, 33}) EXPECT_NEAR(WorstOf(Task::kEmbed, tokens, 2)->distance, 0, 1e-12);
}

// The synthetic engine answers by what a row's ids are.
TEST(CompareEngines, TheSameEngineIsNoDistanceAway) {
  auto engine = MakeSyntheticEngine("max_row_tokens=20,max_batch_tokens=30,depth=1");
  auto reference = MakeSyntheticEngine("max_row_tokens=20,max_batch_tokens=30,depth=1");
  ASSERT_TRUE(engine.ok() && reference.ok());
  const int32_t lengths[] = {1, 16, 20, 64};  // the last is cut to 20, and is there already
  const auto worst = CompareEngines(**engine, **reference, lengths);
  ASSERT_TRUE(worst.ok()) << worst.status();
  EXPECT_NEAR(worst->distance, 0, 1e-12);
}

TEST(CompareEngines, ABatchThatFailsIsSaid) {
  auto engine = MakeSyntheticEngine("fail_step=5,depth=1");
  auto reference = MakeSyntheticEngine("depth=1");
  ASSERT_TRUE(engine.ok() && reference.ok());
  const int32_t lengths[] = {1, 16};
  EXPECT_FALSE(CompareEngines(**engine, **reference, lengths).ok());
}

}  // namespace
}  // namespace trellis::engine::cuda
