// A replica that is there and does not answer: what it costs, step by step, on a clock that the test moves.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "serve/gateway/replica_health.h"
#include "tests/serve/replicas/balancer_fixture.h"

namespace trellis::gateway {
namespace {

using Answer = ReplicaHealth::Answer;
using server::Health;
using std::chrono::milliseconds;
using std::chrono::seconds;

// As GrpcReplica's watcher has them.
constexpr milliseconds kEvery{500}, kLimit{2000};
constexpr int kPatience = 3;

class Stuck : public Balanced {
 protected:
  Stuck() {
    fakes_[0]->answers_cancels = true;
    watched_.Checked(Answer::kServing);
  }
  // What the first one's watcher does at each check; a silent one takes all of its time.
  void Check(Answer answer) {
    if (answer == Answer::kNone) now_ += kLimit;
    watched_.Checked(answer);
    fakes_[0]->state = watched_.health();
    if (watched_.hangs()) fakes_[0]->hangs();
    now_ += kEvery;
  }
  void Send(int requests) {
    for (int i = 0; i < requests; ++i) Balanced::Send(10);
  }
  void OtherAnswers() {
    while (!fakes_[1]->held.empty()) fakes_[1]->Answer();
  }
  std::vector<absl::Status> Good(size_t answers) const {
    return std::vector<absl::Status>(answers, absl::OkStatus());
  }

  ReplicaHealth watched_{kPatience};
};

// SIGSTOP, a machine that is gone without a word: three checks of two seconds, and the half seconds between
// them.
TEST_F(Stuck, WhatItHasIsMovedAtTheThirdSilentCheckAndNotBefore) {
  Send(20);
  ASSERT_EQ(fakes_[0]->held.size(), 10u);
  OtherAnswers();
  const server::Clock::time_point stuck = now_;
  Check(Answer::kNone);
  Check(Answer::kNone);
  EXPECT_TRUE(up(0)) << "a busy machine is silent now and then";
  EXPECT_TRUE(fakes_[0]->cancelled.empty());
  Check(Answer::kNone);
  EXPECT_EQ(now_ - stuck, kPatience * (kLimit + kEvery));
  EXPECT_FALSE(up(0));
  EXPECT_EQ(fakes_[0]->cancelled.size(), 10u);
  EXPECT_EQ(fakes_[1]->held.size(), 10u);
  EXPECT_EQ(balancer_.retried(Retry::kUnavailable), 10);
  OtherAnswers();
  EXPECT_EQ(answers_, Good(20)) << "no client is told";
  EXPECT_EQ(outstanding(0) + outstanding(1), 0);
}

// What comes while nobody knows yet: the one with the most under way is the one that gets nothing, so a stuck
// one holds no more than the other had when it last got one.
TEST_F(Stuck, MeanwhileItHoldsOneRequestAndNotEverySecond) {
  for (int i = 0; i < 1000; ++i) {
    Send(1);
    OtherAnswers();
  }
  EXPECT_EQ(fakes_[0]->asked, 1);
  EXPECT_EQ(answers_, Good(999));
  for (int check = 0; check < kPatience; ++check) Check(Answer::kNone);
  OtherAnswers();
  EXPECT_EQ(answers_, Good(1000));
}

TEST_F(Stuck, OneThatGoesOnGetsRequestsAgain) {
  Send(20);
  for (int check = 0; check < 10; ++check) Check(Answer::kNone);
  Send(10);
  EXPECT_EQ(fakes_[0]->asked, 10) << "nothing while it is silent";
  Check(Answer::kServing);
  EXPECT_TRUE(up(0));
  Send(10);
  EXPECT_EQ(fakes_[0]->held.size(), 10u) << "the other has thirty";
  EXPECT_EQ(fakes_[0]->asked, 20);
  while (!fakes_[0]->held.empty()) fakes_[0]->Answer();
  OtherAnswers();
  EXPECT_EQ(answers_, Good(40));
}

// Its health checks have a connection of their own, and are answered: only gRPC's sign of life tells, and
// what is lost then is tried elsewhere.
TEST_F(Stuck, AConnectionThatDeliversNothingCostsNoRequest) {
  Send(20);
  OtherAnswers();
  for (int check = 0; check < 30; ++check) Check(Answer::kServing);  // fifteen seconds
  EXPECT_TRUE(fakes_[0]->cancelled.empty());
  EXPECT_EQ(answers_, Good(10));
  while (!fakes_[0]->held.empty()) fakes_[0]->Answer(absl::UnavailableError("keepalive watchdog timeout"));
  EXPECT_FALSE(up(0)) << "ten in a row";
  EXPECT_EQ(fakes_[1]->held.size(), 10u);
  OtherAnswers();
  EXPECT_EQ(answers_, Good(20));
  Send(4);
  EXPECT_EQ(fakes_[1]->held.size(), 4u);
  now_ += seconds(1);
  EXPECT_TRUE(up(0));
  OtherAnswers();
}

// Both, one after the other: what waits for the first is moved once, and then waits with the second.
TEST_F(Stuck, WhereTheOtherIsStuckTooRequestsWaitForIt) {
  Send(20);
  for (int check = 0; check < kPatience; ++check) Check(Answer::kNone);
  ASSERT_EQ(fakes_[1]->held.size(), 20u);
  fakes_[1]->answers_cancels = true;
  fakes_[1]->state = Health::kDraining;
  fakes_[1]->hangs();
  EXPECT_TRUE(fakes_[1]->cancelled.empty()) << "there is nobody else";
  EXPECT_TRUE(answers_.empty());
  Balanced::Send(10);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].code(), absl::StatusCode::kUnavailable) << "what comes now is told at once";
  fakes_[1]->state = Health::kReady;
  OtherAnswers();
  EXPECT_EQ(std::vector<absl::Status>(answers_.begin() + 1, answers_.end()), Good(20));
}

// More than may be tried again at once: the rest is moved as retries are earned, one a second.
TEST_F(Stuck, ManyAreMovedAsTheBudgetAllows) {
  Send(2 * 300);
  OtherAnswers();
  Check(Answer::kNone);
  Check(Answer::kNone);
  Check(Answer::kNone);
  EXPECT_EQ(fakes_[1]->held.size(), 256u);
  for (int check = 0; fakes_[0]->held.size() > 0 && check < 100; ++check) Check(Answer::kNone);
  EXPECT_EQ(fakes_[0]->held.size(), 0u);
  OtherAnswers();
  EXPECT_EQ(answers_, Good(600));
}

}  // namespace
}  // namespace trellis::gateway
