// A balancer over replicas that do as a test says, on a clock that a test moves.
#ifndef TRELLIS_TESTS_SERVE_REPLICAS_BALANCER_FIXTURE_H_
#define TRELLIS_TESTS_SERVE_REPLICAS_BALANCER_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "serve/gateway/balancer.h"

namespace trellis::gateway {

class FakeReplica final : public Replica {
 public:
  server::Health health() const override { return state; }
  const ReplicaModel* model() const override { return known ? &model_ : nullptr; }
  server::Ticket Infer(ReplicaRequest request) override {
    const server::Ticket ticket = 100 + static_cast<server::Ticket>(++asked);
    if (!refusal.ok()) {
      request.done({refusal, {}, {}, {}});
    } else {
      held.emplace_back(ticket, std::move(request));
    }
    return ticket;
  }
  // As gRPC does: what is cancelled is answered so.
  void Cancel(server::Ticket ticket) override {
    cancelled.push_back(ticket);
    for (size_t i = 0; answers_cancels && i < held.size(); ++i) {
      if (held[i].first == ticket) return AnswerAt(i, absl::CancelledError("CANCELLED"));
    }
  }
  void Answer(absl::Status status = absl::OkStatus()) { AnswerAt(0, std::move(status)); }

  server::Health state = server::Health::kReady;
  bool known = true, answers_cancels = false;
  absl::Status refusal;
  int asked = 0;
  std::vector<std::pair<server::Ticket, server::Request>> held;
  std::vector<server::Ticket> cancelled;
  ReplicaModel model_;
  std::function<void()> hangs;

 private:
  void AnswerAt(size_t index, absl::Status status) {
    server::Request request = std::move(held[index].second);
    held.erase(held.begin() + static_cast<ptrdiff_t>(index));
    request.done({std::move(status), {}, {}, {}});
  }
};

// Two replicas, at "a:1" and "b:2".
class Balanced : public ::testing::Test {
 protected:
  Balanced() {
    balancer_.SetReplicas({"a:1", "b:2"});
    fakes_[0] = made_.at("a:1");
    fakes_[1] = made_.at("b:2");
  }
  std::unique_ptr<Replica> Make(const std::string& address, std::function<void()> hangs) {
    auto made = std::make_unique<FakeReplica>();
    made->hangs = std::move(hangs);
    made_[address] = made.get();
    return made;
  }
  server::Ticket Send(size_t tokens) {
    ReplicaRequest request;
    request.ids.resize(tokens);
    request.done = [this](server::Reply reply) { answers_.push_back(reply.status); };
    return balancer_.Infer(std::move(request));
  }
  int64_t outstanding(size_t replica) const { return balancer_.replicas()[replica].outstanding; }
  bool up(size_t replica) const { return balancer_.replicas()[replica].up; }

  server::Clock::time_point now_;
  std::map<std::string, FakeReplica*> made_;  // the last of each address
  std::vector<absl::Status> answers_;
  Balancer balancer_{
      [this](const std::string& address, std::function<void()> hangs) { return Make(address, hangs); },
      [this] { return now_; }};
  FakeReplica* fakes_[2];
};

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_REPLICAS_BALANCER_FIXTURE_H_
