#include "serve/engine/synthetic/synthetic_engine.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace trellis::engine {
namespace {

struct Rows {
  std::vector<int32_t> ids, type_ids, cu_seqlens{0};
  std::vector<RowTask> tasks;

  Rows& Add(const std::vector<int32_t>& row, RowTask task = {}) {
    ids.insert(ids.end(), row.begin(), row.end());
    cu_seqlens.push_back(static_cast<int32_t>(ids.size()));
    tasks.push_back(task);
    return *this;
  }
  PackedBatch view() const { return {ids, type_ids, cu_seqlens, tasks}; }
};

RowTask Unscaled(Task task, int32_t dimensions = 0) {
  return {task, Pooling::kModel, Normalize::kNone, dimensions};
}

std::unique_ptr<LazyResult> Step(Engine& engine, const Rows& rows) {
  auto result = engine.Step(rows.view());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : nullptr;
}

TEST(SyntheticEngine, ValuesAreThoseOfTheDefinition) {
  SyntheticOptions options;
  options.limits.dimensions = 3;
  options.limits.labels = 2;
  const auto engine = MakeSyntheticEngine(options);
  Rows rows;
  rows.Add({5, 7}, Unscaled(Task::kEmbed));
  rows.Add({5, 7}, Unscaled(Task::kEmbedAll, 2));
  rows.Add({9, 4, 9}, Unscaled(Task::kSparse));
  rows.Add({5, 7}, Unscaled(Task::kClassify));
  rows.Add({5, 7}, RowTask{});
  const auto result = Step(*engine, rows);
  ASSERT_TRUE(result->Wait().ok());
  // By hand: checksum of {5} is 1 * 6, of {5, 7} is 6 + 2 * 8 = 22.
  const auto value = [](int64_t c, int64_t j) {
    const int64_t spread = (6700417 * c + 3000017 * j) % 16777213;
    return static_cast<float>(2.0 * static_cast<double>(spread) / 16777213 - 1.0);
  };
  const auto floats = [](std::span<const float> s) { return std::vector<float>(s.begin(), s.end()); };
  EXPECT_EQ(floats(result->row(0).values), (std::vector<float>{value(22, 0), value(22, 1), value(22, 2)}));
  EXPECT_EQ(floats(result->row(1).values),
            (std::vector<float>{value(6, 0), value(6, 1), value(22, 0), value(22, 1)}));
  EXPECT_EQ(floats(result->row(2).values), (std::vector<float>{1, 2}));
  const auto indices = result->row(2).indices;
  EXPECT_EQ(std::vector<int32_t>(indices.begin(), indices.end()), (std::vector<int32_t>{4, 9}));
  EXPECT_EQ(floats(result->row(3).values), (std::vector<float>{value(22, 0), value(22, 1)}));
  double length = 0;
  for (const float v : result->row(4).values) length += double{v} * v;
  EXPECT_NEAR(length, 1.0, 1e-6);
}

TEST(SyntheticEngine, TypesPoolingAndOrderMatterNeighboursDoNot) {
  const auto engine = MakeSyntheticEngine(SyntheticOptions{});
  Rows rows;
  rows.Add({1, 2, 3}).Add({3, 2, 1}).Add({1, 2, 3}).Add({1, 2, 3}, {Task::kEmbed, Pooling::kCls});
  rows.Add({1, 2, 3});
  rows.type_ids = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  const auto result = Step(*engine, rows);
  ASSERT_TRUE(result->Wait().ok());
  const auto first = [&](size_t row) { return result->row(row).values[0]; };
  EXPECT_EQ(first(0), first(2));
  EXPECT_NE(first(0), first(1));
  EXPECT_NE(first(0), first(3));
  EXPECT_NE(first(0), first(4));
}

TEST(SyntheticEngine, TakesItsTimeOneBatchAfterAnother) {
  SyntheticOptions options;
  options.batch_us = 5000;
  options.row_us = 2000;
  options.token_ns = 1'000'000;
  const auto engine = MakeSyntheticEngine(options);
  Rows rows;
  rows.Add({1, 2, 3}).Add({4});  // 5 + 2 * 2 + 4 * 1 = 13 ms
  const auto begin = std::chrono::steady_clock::now();
  const auto a = Step(*engine, rows), b = Step(*engine, rows);
  EXPECT_FALSE(b->Ready());
  ASSERT_TRUE(a->Wait().ok());
  EXPECT_TRUE(a->Ready());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(13));
  ASSERT_TRUE(b->Wait().ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(26));
}

TEST(SyntheticEngine, MarkersFailRowsOrBatches) {
  SyntheticOptions options;
  options.fail_row_id = 100;
  options.fail_batch_id = 101;
  options.nonfinite_id = 102;
  const auto engine = MakeSyntheticEngine(options);
  Rows rows;
  rows.Add({1}).Add({2, 100}).Add({102, 3});
  const auto result = Step(*engine, rows);
  ASSERT_TRUE(result->Wait().ok());
  EXPECT_EQ(result->row(0).status, absl::StatusCode::kOk);
  EXPECT_EQ(result->row(1).status, absl::StatusCode::kInternal);
  EXPECT_EQ(result->row(2).status, absl::StatusCode::kOk);
  EXPECT_TRUE(std::isfinite(result->row(0).values.back()));
  EXPECT_TRUE(std::isnan(result->row(2).values.back()));

  Rows bad;
  bad.Add({1}).Add({101});
  EXPECT_EQ(Step(*engine, bad)->Wait().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(Step(*engine, rows)->Wait().ok()) << "a failed batch must not end the engine";
}

TEST(SyntheticEngine, StepsFailThrowAndDieByNumber) {
  SyntheticOptions options;
  options.fail_step = 1;
  options.throw_step = 2;
  options.throw_wait = 3;
  options.die_after = 4;
  const auto engine = MakeSyntheticEngine(options);
  Rows rows;
  rows.Add({1});
  EXPECT_EQ(Step(*engine, rows)->Wait().code(), absl::StatusCode::kInternal);
  EXPECT_THROW(engine->Step(rows.view()).IgnoreError(), std::runtime_error);
  EXPECT_THROW(Step(*engine, rows)->Wait().IgnoreError(), std::runtime_error);
  EXPECT_TRUE(Step(*engine, rows)->Wait().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(engine->Step(rows.view()).status().code(), absl::StatusCode::kUnavailable);
  }
}

TEST(SyntheticEngine, DiesDuringAStep) {
  SyntheticOptions options;
  options.die_during = 2;
  const auto engine = MakeSyntheticEngine(options);
  Rows rows;
  rows.Add({1});
  EXPECT_TRUE(Step(*engine, rows)->Wait().ok());
  EXPECT_EQ(Step(*engine, rows)->Wait().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(engine->Step(rows.view()).status().code(), absl::StatusCode::kUnavailable);
}

// --- the contract ---

class Breaches : public testing::Test {
 protected:
  Breaches() {
    options_.on_breach = [this](const std::string& what) { said_.push_back(what); };
    options_.limits.max_row_tokens = 4;
    options_.limits.max_batch_tokens = 6;
    options_.limits.max_batch_rows = 3;
    options_.limits.vocab_size = 10;
    options_.limits.tasks[static_cast<int>(Task::kSparse)] = false;
  }
  // What the engine says of a batch.
  std::string Said(const PackedBatch& batch) {
    const auto engine = MakeSyntheticEngine(options_);
    said_.clear();
    auto result = engine->Step(batch);
    if (result.ok()) (*result)->Wait().IgnoreError();
    return said_.empty() ? "" : said_[0];
  }

  SyntheticOptions options_;
  std::vector<std::string> said_;
};

TEST_F(Breaches, OfTheShapeOfABatch) {
  EXPECT_EQ(Said(Rows().Add({1, 2, 3, 4}).Add({9}).view()), "");
  EXPECT_EQ(Said(Rows().view()), "rows: 0, expected 1 to 3");
  EXPECT_EQ(Said(Rows().Add({1}).Add({1}).Add({1}).Add({1}).view()), "rows: 4, expected 1 to 3");
  EXPECT_EQ(Said(Rows().Add({1, 2, 3, 4}).Add({1, 2, 3}).view()), "ids: 7, expected at most 6");
  EXPECT_EQ(Said(Rows().Add({1, 2, 3, 4, 5}).view()), "tokens of row 0: 5, expected 1 to 4");
  EXPECT_EQ(Said(Rows().Add({1}).Add({}).view()), "tokens of row 1: 0, expected 1 to 4");
  EXPECT_EQ(Said(Rows().Add({1, 10}).view()), "ids[1]: 10, expected 0 to 9");
  EXPECT_EQ(Said(Rows().Add({-1}).view()), "ids[0]: -1, expected 0 to 9");
  EXPECT_EQ(Said(Rows().Add({1}, {Task::kSparse}).view()), "rows[0].task: 2, expected a task of the model");
  EXPECT_EQ(Said(Rows().Add({1}, Unscaled(Task::kEmbed, 9)).view()),
            "rows[0].dimensions: 9, expected 0 to 8");
  Rows rows;
  rows.Add({1, 2});
  rows.type_ids = {0};
  EXPECT_EQ(Said(rows.view()), "type_ids: 1, expected 0 or 2");
  rows.type_ids = {0, 2};
  EXPECT_EQ(Said(rows.view()), "type_ids[1]: 2, expected 0 to 1");
  rows.type_ids.clear();
  rows.cu_seqlens = {1, 2};
  EXPECT_EQ(Said(rows.view()), "cu_seqlens[0]: 1, expected 0");
  rows.cu_seqlens = {0, 1};
  EXPECT_EQ(Said(rows.view()), "cu_seqlens, the last: 1, expected 2");
  rows.cu_seqlens = {0};
  EXPECT_EQ(Said(rows.view()), "cu_seqlens: 1, expected rows + 1");
}

TEST_F(Breaches, OfMemoryThatChanges) {
  const auto engine = MakeSyntheticEngine(options_);
  for (int column = 0; column < 4; ++column) {
    Rows rows;
    rows.Add({1, 2}).Add({3});
    rows.type_ids = {0, 0, 0};
    options_.batch_us = 1000;
    const auto slow = MakeSyntheticEngine(options_);
    auto result = Step(*slow, rows);
    ASSERT_TRUE(result->Wait().ok());
    EXPECT_TRUE(said_.empty());
    result = Step(*slow, rows);
    while (!result->Ready()) {
    }  // so that the engine's thread does not read what changes
    if (column == 0) rows.ids[2] = 4;
    if (column == 1) rows.type_ids[0] = 1;
    if (column == 2) rows.cu_seqlens[1] = 1;
    if (column == 3) rows.tasks[1].dimensions = 2;
    result.reset();  // never waited for: the destructor looks as well
    ASSERT_EQ(said_.size(), 1u) << "column " << column;
    EXPECT_EQ(said_[0], "the batch of step 2 changed before it was waited for");
    said_.clear();
  }
}

TEST_F(Breaches, OfTheDepth) {
  options_.limits.max_in_flight = 2;
  options_.batch_us = 20000;
  const auto engine = MakeSyntheticEngine(options_);
  Rows rows;
  rows.Add({1});
  const auto a = Step(*engine, rows), b = Step(*engine, rows);
  EXPECT_TRUE(said_.empty());
  const auto c = Step(*engine, rows);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0], "step 3: 2 results unfinished, expected fewer than 2");
}

TEST_F(Breaches, OfReadingTooEarlyOrTooFar) {
  const auto engine = MakeSyntheticEngine(options_);
  Rows rows;
  rows.Add({1});
  const auto result = Step(*engine, rows);
  EXPECT_EQ(result->row(0).status, absl::StatusCode::kInternal);
  EXPECT_EQ(said_.size(), 1u);
  ASSERT_TRUE(result->Wait().ok());
  EXPECT_EQ(result->row(0).status, absl::StatusCode::kOk);
  EXPECT_EQ(said_.size(), 1u);
  EXPECT_EQ(result->row(1).status, absl::StatusCode::kInternal);
  EXPECT_EQ(said_.size(), 2u);
}

TEST(SyntheticEngineDeathTest, ABreachIsLoud) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto engine = MakeSyntheticEngine(SyntheticOptions{});
        engine->Step(Rows().view()).IgnoreError();
      },
      "broken contract: rows: 0, expected 1 to 2048");
}

}  // namespace
}  // namespace trellis::engine
