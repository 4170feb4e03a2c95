#include "serve/server/warm_up.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "gtest/gtest.h"

namespace trellis::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Takes simulated time.
class ClockedEngine : public engine::Engine {
 public:
  ClockedEngine() {
    limits_.max_row_tokens = 512;
    limits_.max_batch_tokens = 16384;
    limits_.max_batch_rows = 64;
    limits_.vocab_size = 100;
    limits_.tasks[static_cast<int>(engine::Task::kSparse)] = true;
  }
  const engine::EngineLimits& limits() const override { return limits_; }
  absl::StatusOr<std::unique_ptr<engine::LazyResult>> Step(const engine::PackedBatch& batch) override {
    EXPECT_LE(batch.num_rows(), static_cast<size_t>(limits_.max_batch_rows));
    EXPECT_LE(batch.num_tokens(), static_cast<size_t>(limits_.max_batch_tokens));
    EXPECT_EQ(batch.cu_seqlens.back(), static_cast<int32_t>(batch.num_tokens()));
    for (size_t r = 0; r < batch.num_rows(); ++r) {
      EXPECT_LE(batch.cu_seqlens[r + 1] - batch.cu_seqlens[r], limits_.max_row_tokens);
      EXPECT_LT(batch.cu_seqlens[r], batch.cu_seqlens[r + 1]);
      EXPECT_EQ(batch.rows[r].task, engine::Task::kSparse) << "a task that the model has";
    }
    now_ += time_(static_cast<int64_t>(batch.num_tokens()));
    if (++steps_ == fail_step_) return absl::InternalError("no");
    return std::make_unique<Done>();
  }

  std::function<Clock::duration(int64_t)> time_ = [](int64_t) { return Clock::duration::zero(); };
  Clock::time_point now_;
  engine::EngineLimits limits_;
  int steps_ = 0, fail_step_ = 0;

 private:
  struct Done : engine::LazyResult {
    bool Ready() const override { return true; }
    absl::Status Wait() override { return absl::OkStatus(); }
    engine::RowValues row(size_t) const override { return {}; }
  };
};

absl::StatusOr<BudgetSearch> Find(ClockedEngine& engine, Clock::duration target) {
  return FindBudget(engine, engine.limits_.max_batch_rows, target, [&] { return engine.now_; });
}

TEST(WarmUp, FindsWhatTakesTheTargetTime) {
  ClockedEngine engine;
  for (const int64_t us_per_token : {5, 10, 20, 50}) {
    engine.time_ = [&](int64_t tokens) { return microseconds(2000 + us_per_token * tokens); };
    const auto found = Find(engine, milliseconds(50));
    ASSERT_TRUE(found.ok());
    EXPECT_NEAR(static_cast<double>(found->max_tokens), 48000.0 / static_cast<double>(us_per_token), 2);
    EXPECT_NEAR(std::chrono::duration<double>(found->took).count(), 0.050, 0.0005);
  }
}

TEST(WarmUp, IsNotFooledByDisturbances) {
  ClockedEngine engine;
  std::mt19937 random(1);
  // Every third batch is disturbed, by up to ten times its time; so the first of all is slow.
  engine.time_ = [&](int64_t tokens) {
    Clock::duration took = microseconds(1000 + 10 * tokens);
    if (engine.steps_ % 3 == 0) took += took * static_cast<int>(random() % 10);
    return took;
  };
  const auto found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(static_cast<double>(found->max_tokens), 4900, 2);
}

TEST(WarmUp, IsAtLeastTheLongestRow) {
  ClockedEngine engine;
  engine.time_ = [](int64_t tokens) { return milliseconds(tokens); };
  auto found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->max_tokens, 512);
  EXPECT_NEAR(std::chrono::duration<double>(found->took).count(), 0.512, 0.001)
      << "what it takes, not what was wanted";
  engine.time_ = [](int64_t tokens) { return milliseconds(60) + 10 * milliseconds(tokens); };
  found = Find(engine, milliseconds(50));  // the first probe is past the target
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->max_tokens, 512);
}

// What a batch costs whatever is in it says nothing of how large it may be: with 49 or with 51 ms of it a
// budget is nearly the same, and what is said of its time was measured.
TEST(WarmUp, ALargeFixedCostIsNotATokens) {
  ClockedEngine engine;
  for (const int64_t fixed_ms : {20, 49, 51, 200}) {
    engine.time_ = [&](int64_t tokens) { return milliseconds(fixed_ms) + microseconds(20) * tokens; };
    const auto found = Find(engine, milliseconds(50));
    ASSERT_TRUE(found.ok());
    // As much again for the tokens, where the target leaves less.
    const double wanted_ms = static_cast<double>(std::max(int64_t{50}, 2 * fixed_ms));
    EXPECT_NEAR(static_cast<double>(found->max_tokens), (wanted_ms - static_cast<double>(fixed_ms)) / 0.020,
                3)
        << fixed_ms;
    EXPECT_EQ(found->took, engine.time_(found->max_tokens));
  }
  engine.time_ = [](int64_t) { return milliseconds(60); };  // tokens are free
  const auto found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->max_tokens, 16384);
}

TEST(WarmUp, WhereTheLineBendsTheChosenBatchIsTimedAndMadeSmaller) {
  ClockedEngine engine;
  engine.time_ = [](int64_t tokens) { return microseconds(tokens * tokens / 100); };  // 50 ms: 2236
  const auto found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->took, engine.time_(found->max_tokens));
  EXPECT_LE(found->took, milliseconds(57));
  EXPECT_GE(found->took, milliseconds(40));
}

TEST(WarmUp, IsAtMostTheEnginesLimit) {
  ClockedEngine engine;
  engine.time_ = [](int64_t) { return microseconds(1); };
  auto found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->max_tokens, 16384);
  engine.limits_.max_batch_rows = 4;  // rows of the longest kind do not fill the tokens
  found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->max_tokens, 4 * 512);
  engine.limits_.max_row_tokens = 3;
  engine.limits_.max_batch_tokens = 3;
  found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->max_tokens, 3);
}

TEST(WarmUp, StopsSoonAfterTheTarget) {
  ClockedEngine engine;
  engine.time_ = [](int64_t tokens) { return microseconds(100 * tokens); };
  const auto found = Find(engine, milliseconds(50));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->probes.back().tokens, 512);
  EXPECT_LT(engine.now_ - Clock::time_point(), milliseconds(50) * 8);
}

TEST(WarmUp, AnEngineThatFailsIsAnError) {
  ClockedEngine engine;
  engine.fail_step_ = 1;
  EXPECT_EQ(TryEngine(engine), absl::InternalError("warm-up with 16 tokens: no"));
  engine.steps_ = 0;
  engine.fail_step_ = 5;  // one to begin with, three of 16, so the first of 32
  EXPECT_EQ(Find(engine, milliseconds(50)).status(), absl::InternalError("warm-up with 32 tokens: no"));
}

}  // namespace
}  // namespace trellis::server
