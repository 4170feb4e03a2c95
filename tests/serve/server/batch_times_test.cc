#include "serve/server/batch_times.h"

#include "gtest/gtest.h"

namespace trellis::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

double ExpectedMs(const BatchTimes& times, int64_t tokens) {
  return std::chrono::duration<double, std::milli>(times.Expect(tokens).value()).count();
}

TEST(BatchTimes, KnowsNothingAtFirst) {
  BatchTimes times;
  EXPECT_FALSE(times.Expect(1).has_value());
  times.Record(1000, milliseconds(10));
  EXPECT_NEAR(ExpectedMs(times, 1000), 10, 0.001);
  EXPECT_NEAR(ExpectedMs(times, 10), 10, 0.001) << "one size says nothing about others";
}

TEST(BatchTimes, FindsTheCostOfABatchAndOfAToken) {
  BatchTimes times;
  for (const int64_t tokens : {100, 16384, 5, 8000, 4000})
    times.Record(tokens, microseconds(5000 + 3 * tokens));
  for (const int64_t tokens : {1, 500, 10000, 16384}) {
    EXPECT_NEAR(ExpectedMs(times, tokens), 5 + 0.003 * static_cast<double>(tokens), 0.01) << tokens;
  }
}

TEST(BatchTimes, IsNeverNegative) {
  BatchTimes times;
  times.Record(1000, milliseconds(1));
  times.Record(2000, milliseconds(10));
  EXPECT_EQ(ExpectedMs(times, 1), 0);
  BatchTimes falling;  // larger batches were quicker, which is chance
  falling.Record(1000, milliseconds(10));
  falling.Record(2000, milliseconds(8));
  EXPECT_NEAR(ExpectedMs(falling, 100000), 9, 0.1);
}

TEST(BatchTimes, FollowsWithoutJumping) {
  BatchTimes times;
  for (int i = 0; i < 100; ++i) times.Record(1024, milliseconds(10));
  times.Record(1024, milliseconds(50));
  EXPECT_LT(ExpectedMs(times, 1024), 13);
  for (int i = 0; i < 100; ++i) times.Record(1024, milliseconds(50));
  EXPECT_GT(ExpectedMs(times, 1024), 49);
}

}  // namespace
}  // namespace trellis::server
