// When a replica counts as gone, and as back.
#include "serve/gateway/replica_health.h"

#include <gtest/gtest.h>

namespace trellis::gateway {
namespace {

using Answer = ReplicaHealth::Answer;
using server::Health;

TEST(ReplicaHealth, OneSilentCheckIsNoLoss) {
  ReplicaHealth health(3);
  EXPECT_EQ(health.health(), Health::kStarting);
  health.Checked(Answer::kServing);
  for (int i = 0; i < 100; ++i) {  // two of three are silent, for ever
    health.Checked(Answer::kNone);
    EXPECT_EQ(health.health(), Health::kReady);
    health.Checked(Answer::kNone);
    EXPECT_EQ(health.health(), Health::kReady);
    health.Checked(Answer::kServing);
  }
}

TEST(ReplicaHealth, SeveralInARowAre) {
  ReplicaHealth health(3);
  health.Checked(Answer::kServing);
  health.Checked(Answer::kNone);
  health.Checked(Answer::kNone);
  health.Checked(Answer::kNone);
  EXPECT_EQ(health.health(), Health::kDraining);
  health.Checked(Answer::kNone);
  EXPECT_EQ(health.health(), Health::kDraining);
  health.Checked(Answer::kServing);
  EXPECT_EQ(health.health(), Health::kReady);
  health.Checked(Answer::kNone);
  EXPECT_EQ(health.health(), Health::kReady) << "and it is counted anew";
}

TEST(ReplicaHealth, WhatItSaysItselfCountsAtOnce) {
  ReplicaHealth health(3);
  health.Checked(Answer::kServing);
  health.Checked(Answer::kNotServing);
  EXPECT_EQ(health.health(), Health::kDraining);
}

TEST(ReplicaHealth, ACallThatFindsNobodyCountsAtOnce) {
  ReplicaHealth health(3);
  health.CallFoundNobody();
  EXPECT_EQ(health.health(), Health::kStarting);
  health.Checked(Answer::kServing);
  health.CallFoundNobody();
  EXPECT_EQ(health.health(), Health::kDraining);
  health.Checked(Answer::kNone);
  EXPECT_EQ(health.health(), Health::kDraining);
  health.Checked(Answer::kServing);
  EXPECT_EQ(health.health(), Health::kReady);
}

TEST(ReplicaHealth, StartsUntilItHasBeenReached) {
  ReplicaHealth health(1);
  health.Checked(Answer::kNone);
  health.Checked(Answer::kNotServing);
  EXPECT_EQ(health.health(), Health::kStarting);
}

}  // namespace
}  // namespace trellis::gateway
