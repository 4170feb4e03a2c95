#include "serve/engine/cuda/inflection.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/bucket.h"

namespace trellis::engine::cuda {
namespace {

using Duration = ForwardTimes::Duration;

// Made-up times: eager is the larger of launching and computing, a graph computing and a little.
class MadeUpTimes : public ForwardTimes {
 public:
  MadeUpTimes(int64_t launching, int64_t per_token, int64_t graph)
      : launching_(launching), per_token_(per_token), graph_(graph) {}
  absl::StatusOr<Duration> Eager(int32_t tokens) override {
    measured.push_back(tokens);
    if (fails_at == tokens) return absl::UnavailableError("dead");
    return Duration(std::max(launching_, per_token_ * tokens));
  }
  absl::StatusOr<Duration> Replay(int32_t tokens) override { return Duration(graph_ + per_token_ * tokens); }

  std::vector<int32_t> measured;
  int32_t fails_at = -1;

 private:
  const int64_t launching_, per_token_, graph_;
};

// A graph gains while graph + per_token * tokens <= 0.95 * launching: here up to (0.95 * 300000 - 5000) / 100
// = 2800 tokens, of which 2752 is the last bucket, 43 * 64.
TEST(Inflection, IsWhereTheGpuTakesLongerThanLaunching) {
  MadeUpTimes times(300000, 100, 5000);
  const auto found = FindInflection(times, 16384);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->tokens, 2752);
  EXPECT_EQ(found->probes.size(), times.measured.size());
  EXPECT_EQ(found->probes[0].tokens, 64);
  EXPECT_EQ(found->probes[0].eager, Duration(300000));
  EXPECT_EQ(found->probes[0].replay, Duration(5000 + 6400));
  EXPECT_LE(times.measured.size(), 14u);  // 64 to 8192 by doubling, and log2(2048 / 64) halvings
}

TEST(Inflection, IsABucketForAnyPrice) {
  for (int64_t per_token = 20; per_token < 5000; per_token += 37) {
    MadeUpTimes times(300000, per_token, 5000);
    const auto found = FindInflection(times, 16384);
    ASSERT_TRUE(found.ok());
    // By trying every bucket.
    int32_t expected = 0;
    for (int32_t tokens = 64; tokens <= 16384; tokens = TokenBucket(tokens + 1)) {
      if (5000 + per_token * tokens <=
          0.95 * static_cast<double>(std::max<int64_t>(300000, per_token * tokens))) {
        expected = tokens;
      }
    }
    EXPECT_EQ(found->tokens, expected) << per_token;
  }
}

TEST(Inflection, IsNoneWhereAGraphNeverGains) {
  MadeUpTimes times(1000, 100, 5000);
  const auto found = FindInflection(times, 16384);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->tokens, 0);
}

TEST(Inflection, IsTheMostWhereAGraphAlwaysGains) {
  MadeUpTimes times(100000000, 100, 5000);
  const auto found = FindInflection(times, 10000);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->tokens, TokenBucket(10000));
}

// A single measurement that was disturbed does not end the search.
TEST(Inflection, OneSizeThatGainsNothingIsSteppedOver) {
  class Disturbed : public MadeUpTimes {
   public:
    using MadeUpTimes::MadeUpTimes;
    absl::StatusOr<Duration> Replay(int32_t tokens) override {
      return tokens == 128 ? Duration(1000000) : MadeUpTimes::Replay(tokens);
    }
  } times(300000, 100, 5000);
  const auto found = FindInflection(times, 16384);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->tokens, 2752);
}

TEST(Inflection, AnErrorIsTheMeasurements) {
  MadeUpTimes times(300000, 100, 5000);
  times.fails_at = 256;
  EXPECT_EQ(FindInflection(times, 16384).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace trellis::engine::cuda
