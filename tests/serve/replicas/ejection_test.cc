// How long a replica whose calls fail gets nothing.
#include "serve/gateway/ejection.h"

#include <gtest/gtest.h>

#include <chrono>

namespace trellis::gateway {
namespace {

using std::chrono::seconds;

// Seconds until it is back, after as many failures as it takes.
int64_t LengthOfNext(Ejection& ejection, Ejection::Time& now) {
  while (!ejection.out(now)) ejection.Failed(now);
  int64_t length = 0;
  for (; ejection.out(now); now += seconds(1)) ++length;
  return length;
}

TEST(Ejection, FailuresBetweenAnswersAreNoReason) {
  Ejection ejection;
  const Ejection::Time now{};
  for (int i = 0; i < 100; ++i) {
    for (int f = 1; f < Ejection::kFailuresInARow; ++f) ejection.Failed(now);
    ejection.Answered(now);
  }
  EXPECT_FALSE(ejection.out(now));
  for (int f = 0; f < Ejection::kFailuresInARow; ++f) ejection.Failed(now);
  EXPECT_TRUE(ejection.out(now));
  EXPECT_EQ(ejection.times(), 1);
}

TEST(Ejection, EachTimeIsTwiceAsLongUpToAMinute) {
  Ejection ejection;
  Ejection::Time now{};
  for (const int64_t expected : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    EXPECT_EQ(LengthOfNext(ejection, now), expected);
  }
}

TEST(Ejection, WhatWasSentBeforeDoesNotCountTwice) {
  Ejection ejection;
  Ejection::Time now{};
  for (int f = 0; f < 1000; ++f) ejection.Failed(now);
  EXPECT_EQ(ejection.times(), 1);
  ejection.Answered(now);
  EXPECT_TRUE(ejection.out(now));
}

TEST(Ejection, OneThatIsGoodForAsLongAsItWasOutIsForgiven) {
  Ejection ejection;
  Ejection::Time now{};
  for (int i = 0; i < 4; ++i) LengthOfNext(ejection, now);  // the last one for 8 s
  ejection.Answered(now);
  EXPECT_EQ(LengthOfNext(ejection, now), 16) << "too soon";
  now += seconds(16);
  ejection.Answered(now);
  EXPECT_EQ(LengthOfNext(ejection, now), 1);
}

}  // namespace
}  // namespace trellis::gateway
