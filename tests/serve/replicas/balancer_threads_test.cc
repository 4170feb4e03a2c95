// A balancer with many threads at once: senders, replicas that answer, fail and hang on threads of their own,
// and replicas that come and go. Meant to run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "serve/gateway/balancer.h"

namespace trellis::gateway {
namespace {

using absl::StatusCode;
using std::chrono::microseconds;

// Answers on a thread of its own: most of it well, and now and then it refuses, fails, drains or hangs.
class MoodyReplica final : public Replica {
 public:
  MoodyReplica(uint32_t seed, std::function<void()> hangs)
      : random_(seed), hangs_(std::move(hangs)), worker_([this] { Work(); }) {}
  ~MoodyReplica() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    worker_.join();
  }

  server::Health health() const override { return health_; }
  const ReplicaModel* model() const override { return &model_; }
  server::Ticket Infer(ReplicaRequest request) override {
    {
      const std::lock_guard lock(mutex_);
      ++last_;
      if (random_() % 16 != 0) {
        held_.emplace_back(last_, std::move(request));
        changed_.notify_all();
        return last_;
      }
    }
    request.done({absl::ResourceExhaustedError("full"), {}, {}, {}});
    return 0;
  }
  void Cancel(server::Ticket ticket) override {
    std::function<void(server::Reply)> done;
    {
      const std::lock_guard lock(mutex_);
      for (auto held = held_.begin(); held != held_.end(); ++held) {
        if (held->first != ticket) continue;
        done = std::move(held->second.done);
        held_.erase(held);
        break;
      }
    }
    if (done != nullptr) done({absl::CancelledError("CANCELLED"), {}, {}, {}});
  }

 private:
  void Work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !held_.empty(); });
      if (held_.empty()) return;
      const uint32_t mood = random_() % 32;
      if (mood == 0 && !ending_) {
        lock.unlock();
        health_ = server::Health::kDraining;
        hangs_();
        health_ = server::Health::kReady;
        continue;
      }
      const auto done = std::move(held_.front().second.done);
      held_.pop_front();
      lock.unlock();
      done({mood == 1   ? absl::UnavailableError("gone")
            : mood == 2 ? absl::InternalError("broken")
                        : absl::OkStatus(),
            {},
            {},
            {}});
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937 random_;  // guarded by mutex_, as what follows
  std::deque<std::pair<server::Ticket, ReplicaRequest>> held_;
  server::Ticket last_ = 0;
  bool ending_ = false;
  std::atomic<server::Health> health_{server::Health::kReady};
  const ReplicaModel model_;
  const std::function<void()> hangs_;
  std::thread worker_;
};

struct Sent {
  std::atomic<int> answers{0};
  StatusCode code{};
};

TEST(BalancerThreads, EachRequestIsAnsweredOnceWhoeverComesHangsOrGoes) {
  constexpr int kThreads = 3, kRequests = 1500;
  std::vector<std::vector<Sent>> sent(kThreads);
  for (auto& list : sent) list = std::vector<Sent>(kRequests);
  std::atomic<uint32_t> made{0};
  std::atomic<int> asked{0};
  Balancer balancer([&made](const std::string&, std::function<void()> hangs) {
    return std::make_unique<MoodyReplica>(++made, std::move(hangs));
  });
  balancer.SetReplicas({"a:1", "b:2"});

  std::vector<std::thread> senders;
  for (int t = 0; t < kThreads; ++t) {
    senders.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (Sent& one : sent[static_cast<size_t>(t)]) {
        ReplicaRequest request;
        request.ids.resize(1 + random() % 100);
        request.done = [&one](server::Reply reply) {
          one.code = reply.status.code();
          ++one.answers;
        };
        const server::Ticket ticket = balancer.Infer(std::move(request));
        if (random() % 8 == 0) balancer.Cancel(ticket);
        if (random() % 20 == 0) std::this_thread::sleep_for(microseconds(random() % 500));
        ++asked;
      }
    });
  }
  std::thread looks([&] {  // as /metrics and /health do
    while (asked < kThreads * kRequests) {
      for (const Balancer::State& state : balancer.replicas()) EXPECT_GE(state.outstanding, 0);
      EXPECT_NE(balancer.model(), nullptr);
      balancer.health();
      std::this_thread::sleep_for(microseconds(200));
    }
  });
  const std::vector<std::vector<std::string>> names = {{"a:1"}, {"a:1", "b:2"}, {"b:2", "c:3"}, {"c:3"}};
  for (size_t turn = 0; turn < 16 || asked < kThreads * kRequests; ++turn) {
    balancer.SetReplicas(names[turn % names.size()]);
    std::this_thread::sleep_for(microseconds(500));
  }
  for (std::thread& sender : senders) sender.join();
  looks.join();

  // Who leaves goes when it has answered all that it had.
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!balancer.replicas().empty() && std::chrono::steady_clock::now() < end) {
    balancer.SetReplicas({});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(balancer.replicas().empty());
  int good = 0;
  for (const auto& list : sent) {
    for (const Sent& one : list) {
      ASSERT_EQ(one.answers, 1);
      good += one.code == StatusCode::kOk ? 1 : 0;
    }
  }
  // How many depends on how often the machine lets a sender find all replicas hanging.
  EXPECT_GT(good, 0);
  EXPECT_GT(made, 4u) << "some have come again";
}

// The end of a balancer while replicas answer: everybody is told, and nothing is tried again.
TEST(BalancerThreads, AtTheEndEverybodyIsTold) {
  for (uint32_t round = 0; round < 20; ++round) {
    std::vector<Sent> sent(200);
    {
      Balancer balancer([&](const std::string& address, std::function<void()> hangs) {
        return std::make_unique<MoodyReplica>(round + static_cast<uint32_t>(address[0]), std::move(hangs));
      });
      balancer.SetReplicas({"a:1", "b:2"});
      for (Sent& one : sent) {
        ReplicaRequest request;
        request.ids.resize(10);
        request.done = [&one](server::Reply reply) {
          one.code = reply.status.code();
          ++one.answers;
        };
        balancer.Infer(std::move(request));
      }
    }
    for (const Sent& one : sent) ASSERT_EQ(one.answers, 1);
  }
}

}  // namespace
}  // namespace trellis::gateway
