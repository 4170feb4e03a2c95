// Which replica gets what, and what happens when one is lost.
#include "serve/gateway/balancer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace trellis::gateway {
namespace {

class FakeReplica final : public Replica {
 public:
  server::Health health() const override { return state; }
  const ReplicaModel* model() const override { return known ? &model_ : nullptr; }
  server::Ticket Infer(server::Request request) override {
    if (!refusal.ok()) {
      request.done({refusal, {}, {}, {}});
    } else {
      held.push_back(std::move(request));
    }
    ++asked;
    return 100 + static_cast<server::Ticket>(asked);
  }
  void Cancel(server::Ticket ticket) override { cancelled.push_back(ticket); }
  void Answer(absl::Status status = absl::OkStatus()) {
    server::Request request = std::move(held.front());
    held.erase(held.begin());
    request.done({std::move(status), {}, {}, {}});
  }

  server::Health state = server::Health::kReady;
  bool known = true;
  absl::Status refusal;
  int asked = 0;
  std::vector<server::Request> held;
  std::vector<server::Ticket> cancelled;
  ReplicaModel model_;
};

class Balanced : public ::testing::Test {
 protected:
  Balanced() {
    std::vector<std::unique_ptr<Replica>> replicas;
    for (FakeReplica*& fake : fakes_) {
      auto made = std::make_unique<FakeReplica>();
      fake = made.get();
      replicas.push_back(std::move(made));
    }
    balancer_ = std::make_unique<Balancer>(std::move(replicas));
  }
  server::Ticket Send(size_t tokens) {
    server::Request request;
    request.ids.resize(tokens);
    request.done = [this](server::Reply reply) { answers_.push_back(reply.status); };
    return balancer_->Infer(std::move(request));
  }

  FakeReplica* fakes_[2];
  std::unique_ptr<Balancer> balancer_;
  std::vector<absl::Status> answers_;
};

TEST_F(Balanced, TheLeastTokensUnderWayGetTheNext) {
  Send(100);
  Send(10);
  Send(10);
  Send(10);
  EXPECT_EQ(fakes_[0]->held.size(), 1u);
  EXPECT_EQ(fakes_[1]->held.size(), 3u);
  EXPECT_EQ(balancer_->outstanding(0), 100);
  EXPECT_EQ(balancer_->outstanding(1), 30);
  fakes_[0]->Answer();
  Send(1);
  EXPECT_EQ(fakes_[0]->held.size(), 1u);
  EXPECT_EQ(answers_, (std::vector<absl::Status>{absl::OkStatus()}));
  EXPECT_EQ(balancer_->outstanding(0), 1);
}

TEST_F(Balanced, WhatIsLostGoesToTheOtherOnce) {
  fakes_[0]->refusal = absl::UnavailableError("gone");
  Send(1);
  EXPECT_TRUE(answers_.empty());
  ASSERT_EQ(fakes_[1]->held.size(), 1u);
  fakes_[1]->Answer(absl::UnavailableError("gone too"));
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].message(), "gone too");
  EXPECT_EQ(balancer_->outstanding(0) + balancer_->outstanding(1), 0);
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
  for (int i = 0; i < 1000; ++i) Send(1);
  const int tries = fakes_[0]->asked + fakes_[1]->asked;
  EXPECT_EQ(answers_.size(), 1000u);
  EXPECT_GE(tries, 1000 + 100);
  EXPECT_LE(tries, 1000 + 100 + 10 + 1);
}

TEST_F(Balanced, OnlyReadyOnesOfTheSameModelServe) {
  fakes_[0]->state = server::Health::kDraining;
  Send(1);
  EXPECT_EQ(fakes_[1]->held.size(), 1u);
  EXPECT_EQ(balancer_->health(), server::Health::kReady);
  fakes_[0]->state = server::Health::kReady;
  fakes_[1]->model_.limits.dimensions = 7;  // not what the first has
  for (int i = 0; i < 3; ++i) Send(1);
  EXPECT_EQ(fakes_[0]->held.size(), 3u);
  fakes_[0]->state = server::Health::kDead;
  EXPECT_EQ(balancer_->health(), server::Health::kDraining);
  Send(1);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].code(), absl::StatusCode::kUnavailable);
}

TEST_F(Balanced, StartsUntilOneIsReached) {
  fakes_[0]->known = fakes_[1]->known = false;
  EXPECT_EQ(balancer_->health(), server::Health::kStarting);
  EXPECT_EQ(balancer_->model(), nullptr);
  fakes_[1]->known = true;
  EXPECT_EQ(balancer_->health(), server::Health::kReady);
  EXPECT_EQ(balancer_->model(), fakes_[1]->model());
}

TEST_F(Balanced, CancelReachesTheOneThatHasIt) {
  Send(10);
  const server::Ticket ticket = Send(1);
  balancer_->Cancel(ticket);
  EXPECT_TRUE(fakes_[0]->cancelled.empty());
  EXPECT_EQ(fakes_[1]->cancelled, (std::vector<server::Ticket>{101}));
  fakes_[1]->Answer(absl::UnavailableError("gone"));  // nobody waits for a second try
  EXPECT_EQ(answers_.size(), 1u);
  EXPECT_EQ(fakes_[0]->asked, 1);
}

}  // namespace
}  // namespace trellis::gateway
