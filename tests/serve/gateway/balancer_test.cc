// Which replica gets what, and what happens when one is lost.
#include "serve/gateway/balancer.h"

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

TEST_F(Balanced, TheLeastTokensUnderWayGetTheNext) {
  Send(100);
  Send(10);
  Send(10);
  Send(10);
  EXPECT_EQ(fakes_[0]->held.size(), 1u);
  EXPECT_EQ(fakes_[1]->held.size(), 3u);
  EXPECT_EQ(outstanding(0), 100);
  EXPECT_EQ(outstanding(1), 30);
  fakes_[0]->Answer();
  Send(1);
  EXPECT_EQ(fakes_[0]->held.size(), 1u);
  EXPECT_EQ(answers_, (std::vector<absl::Status>{absl::OkStatus()}));
  EXPECT_EQ(outstanding(0), 1);
}

TEST_F(Balanced, WhatIsLostGoesToTheOtherOnce) {
  fakes_[0]->refusal = absl::UnavailableError("gone");
  Send(1);
  EXPECT_TRUE(answers_.empty());
  ASSERT_EQ(fakes_[1]->held.size(), 1u);
  fakes_[1]->Answer(absl::UnavailableError("gone too"));
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].message(), "gone too");
  EXPECT_EQ(outstanding(0) + outstanding(1), 0);
}

TEST_F(Balanced, AFullOneIsPassedOnAndWhatIsWrongIsNot) {
  fakes_[0]->refusal = absl::ResourceExhaustedError("full");
  Send(1);
  EXPECT_EQ(fakes_[1]->held.size(), 1u);
  fakes_[1]->Answer();
  fakes_[0]->refusal = absl::InvalidArgumentError("wrong");
  Send(1);
  EXPECT_EQ(fakes_[1]->asked, 1);
  EXPECT_EQ(answers_.back().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Balanced, RetriesAreFew) {
  fakes_[0]->refusal = fakes_[1]->refusal = absl::ResourceExhaustedError("full");
  for (int i = 0; i < 10'000; ++i) Send(1);
  const auto tries = [this] { return fakes_[0]->asked + fakes_[1]->asked; };
  EXPECT_EQ(answers_.size(), 10'000u);
  // Every tenth, and what was saved up at the start.
  EXPECT_GE(tries(), 10'000 + 1000);
  EXPECT_LE(tries(), 10'000 + 1000 + 256 + 1);
  EXPECT_EQ(balancer_.retried(Retry::kOverloaded), tries() - 10'000);
  EXPECT_EQ(balancer_.retried(Retry::kUnavailable), 0);
}

TEST_F(Balanced, WhereRequestsAreFewASecondEarnsARetryToo) {
  fakes_[0]->refusal = fakes_[1]->refusal = absl::UnavailableError("gone");
  while (balancer_.retried(Retry::kUnavailable) < 256) Send(1);
  for (int i = 0; i < 10; ++i) {
    now_ += std::chrono::seconds(1);
    const int64_t before = balancer_.retried(Retry::kUnavailable);
    Send(1);
    EXPECT_EQ(balancer_.retried(Retry::kUnavailable), before + 1);
  }
}

// So many as a busy gateway has at one replica: when that is lost, no client is told.
TEST_F(Balanced, NobodyNoticesALostReplica) {
  for (int i = 0; i < 512; ++i) Send(10);
  ASSERT_EQ(fakes_[0]->held.size(), 256u);
  fakes_[0]->state = server::Health::kDraining;
  while (!fakes_[0]->held.empty()) fakes_[0]->Answer(absl::UnavailableError("gone"));
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(fakes_[1]->held.size(), 512u);
  EXPECT_EQ(balancer_.retried(Retry::kUnavailable), 256);
  while (!fakes_[1]->held.empty()) fakes_[1]->Answer();
  EXPECT_EQ(answers_, std::vector<absl::Status>(512, absl::OkStatus()));
}

TEST_F(Balanced, MetricsNameReplicasByTheirAddresses) {
  const ReplicaMetrics metrics(balancer_);
  const auto scrape = [&] { return server::ParseMetrics(MetricsText(metrics)); };
  EXPECT_EQ(scrape().size(), 9u);
  fakes_[1]->refusal = absl::UnavailableError("gone");
  Send(100);
  Send(7);  // to the second, and from there to the first
  fakes_[1]->state = server::Health::kDraining;
  const server::Samples samples = scrape();
  EXPECT_EQ(samples.at("trellis_replica_up{replica=\"a:1\"}"), 1);
  EXPECT_EQ(samples.at("trellis_replica_up{replica=\"b:2\"}"), 0);
  EXPECT_EQ(samples.at("trellis_replica_outstanding{replica=\"a:1\"}"), 107);
  EXPECT_EQ(samples.at("trellis_replica_outstanding{replica=\"b:2\"}"), 0);
  EXPECT_EQ(samples.at("trellis_retries_total{reason=\"unavailable\"}"), 1);
  EXPECT_EQ(samples.at("trellis_retries_total{reason=\"overloaded\"}"), 0);
  EXPECT_EQ(samples.at("trellis_retries_total{reason=\"failed\"}"), 0);
  EXPECT_EQ(samples.at("trellis_replica_ejections_total{replica=\"b:2\"}"), 0);
  EXPECT_EQ(samples.size(), 9u);
}

TEST_F(Balanced, OnlyReadyOnesOfTheSameModelServe) {
  fakes_[0]->state = server::Health::kDraining;
  Send(1);
  EXPECT_EQ(fakes_[1]->held.size(), 1u);
  EXPECT_EQ(balancer_.health(), server::Health::kReady);
  fakes_[0]->state = server::Health::kReady;
  fakes_[1]->model_.limits.dimensions = 7;  // not what the first has
  for (int i = 0; i < 3; ++i) Send(1);
  EXPECT_EQ(fakes_[0]->held.size(), 3u);
  fakes_[0]->state = server::Health::kDead;
  EXPECT_EQ(balancer_.health(), server::Health::kDraining);
  Send(1);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].code(), absl::StatusCode::kUnavailable);
}

TEST_F(Balanced, StartsUntilOneIsReached) {
  fakes_[0]->known = fakes_[1]->known = false;
  EXPECT_EQ(balancer_.health(), server::Health::kStarting);
  EXPECT_EQ(balancer_.model(), nullptr);
  fakes_[1]->model_.max_batch_tokens = 77;
  fakes_[1]->known = true;
  EXPECT_EQ(balancer_.health(), server::Health::kReady);
  ASSERT_NE(balancer_.model(), nullptr);
  EXPECT_EQ(balancer_.model()->max_batch_tokens, 77);
}

TEST_F(Balanced, CancelReachesTheOneThatHasIt) {
  Send(10);
  const server::Ticket ticket = Send(1);
  balancer_.Cancel(ticket);
  EXPECT_TRUE(fakes_[0]->cancelled.empty());
  EXPECT_EQ(fakes_[1]->cancelled, (std::vector<server::Ticket>{101}));
  fakes_[1]->Answer(absl::UnavailableError("gone"));  // nobody waits for a second try
  EXPECT_EQ(answers_.size(), 1u);
  EXPECT_EQ(fakes_[0]->asked, 1);
}

}  // namespace
}  // namespace trellis::gateway
