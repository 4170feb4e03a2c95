// Replicas that come, leave, hang, and fail while they say that all is well.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "serve/gateway/metrics_replicas.h"
#include "serve/gateway/metrics_requests.h"
#include "tests/serve/replicas/balancer_fixture.h"
#include "tests/serve/grpc/metrics_text.h"

namespace trellis::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

TEST_F(Balanced, ANewOneGetsWhatComesNext) {
  Send(10);
  Send(10);
  const Balancer::Change change = balancer_.SetReplicas({"a:1", "b:2", "c:3"});
  EXPECT_EQ(change.come, Names{"c:3"});
  EXPECT_EQ(change.gone, Names{});
  EXPECT_EQ(made_.at("a:1"), fakes_[0]) << "those that were there stay";
  Send(1);
  EXPECT_EQ(made_.at("c:3")->held.size(), 1u);
  EXPECT_EQ(balancer_.replicas().size(), 3u);
}

TEST_F(Balanced, OneThatIsNoLongerNamedFinishesAndGoes) {
  Send(10);
  const ReplicaMetrics metrics(balancer_);
  const auto scrape = [&] { return server::ParseMetrics(MetricsText(metrics)); };
  EXPECT_EQ(balancer_.SetReplicas({"b:2"}).gone, Names{"a:1"});
  EXPECT_EQ(balancer_.SetReplicas({"b:2"}).gone, Names{}) << "said once";
  ASSERT_EQ(fakes_[0]->held.size(), 1u) << "what it has is left to it";
  EXPECT_EQ(scrape().at("trellis_replica_up{replica=\"a:1\"}"), 0);
  EXPECT_EQ(scrape().at("trellis_replica_outstanding{replica=\"a:1\"}"), 10);
  for (int i = 0; i < 3; ++i) Send(100);
  EXPECT_EQ(fakes_[0]->asked, 1);
  EXPECT_EQ(fakes_[1]->asked, 3);
  fakes_[0]->Answer();
  EXPECT_EQ(answers_, std::vector<absl::Status>{absl::OkStatus()});
  balancer_.SetReplicas({"b:2"});
  ASSERT_EQ(balancer_.replicas().size(), 1u);
  EXPECT_EQ(balancer_.replicas()[0].address, "b:2");
  EXPECT_EQ(scrape().count("trellis_replica_up{replica=\"a:1\"}"), 0u);
  while (!fakes_[1]->held.empty()) fakes_[1]->Answer();
}

TEST_F(Balanced, OneThatLeavesMayComeBackAsItIs) {
  Send(10);
  balancer_.SetReplicas({"b:2"});
  EXPECT_EQ(balancer_.SetReplicas({"a:1", "b:2"}).come, Names{"a:1"});
  EXPECT_EQ(made_.at("a:1"), fakes_[0]);
  EXPECT_TRUE(up(0));
  EXPECT_EQ(outstanding(0), 10);
  fakes_[0]->Answer();
}

// A request that was refused there and is now elsewhere does not hold it, nor knows it any more.
TEST_F(Balanced, WhoWasTriedFirstMayGoMeanwhile) {
  fakes_[0]->refusal = absl::UnavailableError("gone");
  Send(1);
  ASSERT_EQ(fakes_[1]->held.size(), 1u);
  balancer_.SetReplicas({"b:2"});
  EXPECT_EQ(balancer_.replicas().size(), 1u);
  fakes_[1]->Answer();
  EXPECT_EQ(answers_, std::vector<absl::Status>{absl::OkStatus()});
}

TEST_F(Balanced, TheModelOutlivesWhoToldIt) {
  fakes_[0]->model_.max_batch_tokens = 77;
  const ReplicaModel* model = balancer_.model();
  ASSERT_NE(model, nullptr);
  balancer_.SetReplicas({});
  EXPECT_EQ(balancer_.replicas().size(), 0u);
  EXPECT_EQ(balancer_.model(), model);
  EXPECT_EQ(model->max_batch_tokens, 77);
  EXPECT_EQ(balancer_.health(), server::Health::kDraining);
  Send(1);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].code(), absl::StatusCode::kUnavailable);
}

TEST_F(Balanced, WhatHangsIsTriedElsewhere) {
  fakes_[0]->answers_cancels = true;
  for (int i = 0; i < 10; ++i) Send(10);
  ASSERT_EQ(fakes_[0]->held.size(), 5u);
  fakes_[0]->state = server::Health::kDraining;
  fakes_[0]->hangs();
  EXPECT_EQ(fakes_[0]->cancelled.size(), 5u);
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(fakes_[1]->held.size(), 10u);
  EXPECT_EQ(outstanding(0), 0);
  EXPECT_EQ(balancer_.retried(Retry::kUnavailable), 5);
  while (!fakes_[1]->held.empty()) fakes_[1]->Answer();
  EXPECT_EQ(answers_, std::vector<absl::Status>(10, absl::OkStatus()));
}

// It may wake up, and nobody else could do better.
TEST_F(Balanced, WhereThereIsNoOtherWhatHangsWaits) {
  fakes_[1]->state = server::Health::kDraining;
  Send(10);
  fakes_[0]->state = server::Health::kDraining;
  fakes_[0]->hangs();
  EXPECT_TRUE(fakes_[0]->cancelled.empty());
  EXPECT_TRUE(answers_.empty());
  fakes_[0]->Answer();
  EXPECT_EQ(answers_, std::vector<absl::Status>{absl::OkStatus()});
}

TEST_F(Balanced, AnAnswerThatComesAfterAllCounts) {
  Send(10);
  fakes_[0]->hangs();
  EXPECT_EQ(fakes_[0]->cancelled.size(), 1u);
  fakes_[0]->Answer();  // it crossed the cancelling
  EXPECT_EQ(answers_, std::vector<absl::Status>{absl::OkStatus()});
  EXPECT_EQ(fakes_[1]->asked, 0);
}

TEST_F(Balanced, WhatIsMovedAndThenGivenUpIsNotTriedAgain) {
  const server::Ticket ticket = Send(10);
  fakes_[0]->hangs();
  balancer_.Cancel(ticket);
  fakes_[0]->Answer(absl::CancelledError("CANCELLED"));
  EXPECT_EQ(answers_.size(), 1u);
  EXPECT_EQ(fakes_[1]->asked, 0);
}

// Five in a row, then a second, two, four... and whatever it was asked meanwhile is answered elsewhere.
TEST_F(Balanced, OneThatFailsIsOutForAGrowingWhile) {
  fakes_[0]->refusal = absl::InternalError("the replica gave 7 bytes");
  const auto asked_of_100 = [this] {
    const int before = fakes_[0]->asked;
    for (int i = 0; i < 100; ++i) {
      Send(1);
      while (!fakes_[1]->held.empty()) fakes_[1]->Answer();
    }
    return fakes_[0]->asked - before;
  };
  EXPECT_EQ(asked_of_100(), 5);
  EXPECT_FALSE(up(0));
  EXPECT_EQ(balancer_.health(), server::Health::kReady);
  now_ += milliseconds(999);
  EXPECT_EQ(asked_of_100(), 0);
  now_ += milliseconds(1);
  EXPECT_TRUE(up(0));
  EXPECT_EQ(asked_of_100(), 1) << "on trial: one more failure is enough";
  now_ += milliseconds(1999);
  EXPECT_EQ(asked_of_100(), 0);
  now_ += milliseconds(1);
  EXPECT_EQ(asked_of_100(), 1);
  EXPECT_EQ(balancer_.replicas()[0].ejections, 3);
  EXPECT_EQ(balancer_.retried(Retry::kFailed), 7);
  EXPECT_EQ(answers_, std::vector<absl::Status>(500, absl::OkStatus()));
}

TEST_F(Balanced, OneWhereRequestsTimeOutIsOutToo) {
  for (int i = 0; i < 10; ++i) Send(1);
  now_ += seconds(60);
  for (int i = 0; i < 5; ++i) fakes_[0]->Answer(absl::DeadlineExceededError("Deadline Exceeded"));
  EXPECT_FALSE(up(0));
  EXPECT_TRUE(up(1));
  EXPECT_EQ(fakes_[1]->asked, 5) << "there is no time left to try again";
}

TEST_F(Balanced, ClientsThatWaitForNothingSayNothing) {
  for (int i = 0; i < 100; ++i) Send(1);
  now_ += milliseconds(20);
  while (!fakes_[0]->held.empty()) fakes_[0]->Answer(absl::DeadlineExceededError("Deadline Exceeded"));
  EXPECT_TRUE(up(0));
  while (!fakes_[1]->held.empty()) {
    fakes_[1]->Answer(absl::ResourceExhaustedError("full"));
    if (!fakes_[0]->held.empty()) fakes_[0]->Answer();
  }
  EXPECT_TRUE(up(1)) << "who is busy is not broken";
}

TEST_F(Balanced, WhereAllAreOutAllAreAsked) {
  fakes_[0]->refusal = fakes_[1]->refusal = absl::InternalError("broken");
  for (int i = 0; i < 20; ++i) Send(1);
  EXPECT_FALSE(up(0) || up(1));
  fakes_[0]->refusal = fakes_[1]->refusal = absl::OkStatus();
  Send(1);
  EXPECT_EQ(fakes_[0]->held.size() + fakes_[1]->held.size(), 1u) << "no reason to answer 503";
}

// Else an overload would be answered with what the broken one says.
TEST_F(Balanced, WhatABusyOneRefusesIsNotTriedAtABrokenOne) {
  fakes_[1]->refusal = absl::InternalError("broken");
  Send(1'000'000);
  for (int i = 0; i < 5; ++i) Send(1);
  ASSERT_FALSE(up(1));
  const int asked = fakes_[1]->asked;
  fakes_[0]->refusal = absl::ResourceExhaustedError("full");
  Send(1);
  EXPECT_EQ(answers_.back().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(fakes_[1]->asked, asked);
  while (!fakes_[0]->held.empty()) fakes_[0]->Answer();
}

}  // namespace
}  // namespace trellis::gateway
