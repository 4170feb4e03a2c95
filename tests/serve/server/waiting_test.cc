// How long rows wait, in simulated time: what interactive queries may expect under a stream of bulk requests,
// and that nothing waits for ever.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/server/requests.h"
#include "tests/serve/server/simulation.h"

namespace trellis::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Clock::time_point kStart{std::chrono::hours(1)};
constexpr int32_t kBudget = 1000;

SchedulerOptions Options(int32_t depth) {
  SchedulerOptions options;
  options.policy.max_tokens = kBudget;
  options.policy.max_rows = 200;
  options.policy.max_in_flight = depth;
  options.policy.bulk_ageing = seconds(1);
  options.max_queued_tokens = 64 * kBudget;
  options.max_queued_tokens_bulk = 56 * kBudget;
  options.max_held_tokens = 300 * kBudget;
  return options;
}

struct Engine {
  std::string name;
  std::function<Clock::duration(int64_t tokens, std::mt19937& random)> time;
};

// Bulk requests as many as the queue takes, at any time; one interactive query after another, each once the
// one before is answered and some time has passed. Latencies in units of the longest batch.
std::vector<double> LatenciesUnderBulk(int32_t depth, const Engine& engine, uint32_t seed, int32_t bulk_row) {
  std::mt19937 random(seed), engine_random(seed + 1);
  Simulation simulation(Options(depth), [&](int64_t tokens) { return engine.time(tokens, engine_random); });
  std::vector<Clock::duration> latencies;
  Clock::time_point ask_at =
      kStart + seconds(3);  // once the queue is full of bulk rows older than the ageing
  bool asked = false;
  simulation.load = [&](Clock::time_point now) {
    for (bool room = true; room;) {
      std::vector<int32_t> lengths(1 + random() % 20);
      for (int32_t& length : lengths)
        length = 1 + static_cast<int32_t>(random() % static_cast<uint32_t>(bulk_row));
      room = simulation.scheduler().Accept(RequestOfLengths(lengths, Priority::kBulk), now).ok();
    }
    if (!asked && now >= ask_at) {
      Request query = RequestOfLengths({1 + static_cast<int32_t>(random() % 30)});
      query.done = [&, now](Reply) {
        latencies.push_back(simulation.now() - now);
        asked = false;
        ask_at = simulation.now() + microseconds(random() % 200'000);
      };
      asked = true;
      EXPECT_TRUE(simulation.scheduler().Accept(std::move(query), now).ok()) << "bulk requests left no room";
    }
    return asked ? Clock::time_point::max() : std::max(ask_at, now + microseconds(1));
  };
  simulation.RunUntil(kStart + seconds(70));
  std::vector<double> relative;
  for (const auto latency : latencies) {
    relative.push_back(std::chrono::duration<double>(latency) /
                       std::chrono::duration<double>(simulation.longest()));
  }
  std::sort(relative.begin(), relative.end());
  return relative;
}

const std::vector<Engine>& Engines() {
  static const std::vector<Engine> engines = {
      {"all by token", [](int64_t tokens, auto&) { return microseconds(50 * tokens); }},
      {"all by batch", [](int64_t, auto&) { return microseconds(50'000); }},
      {"half and half", [](int64_t tokens, auto&) { return microseconds(25'000 + 25 * tokens); }},
      {"quadratic", [](int64_t tokens, auto&) { return microseconds(tokens * tokens / 20); }},
      {"by token, jittery",
       [](int64_t tokens, auto& random) {
         return microseconds(tokens * (30 + static_cast<int64_t>(random() % 20)));
       }},
      {"by batch, jittery",
       [](int64_t, auto& random) { return microseconds(40'000 + static_cast<int64_t>(random() % 10'000)); }},
  };
  return engines;
}

TEST(Waiting, AQueryUnderBulkTakesAtMostTwoBatches) {
  for (const Engine& engine : Engines()) {
    for (const int32_t depth : {1, 2, 3}) {
      const int32_t bulk_row = (engine.name.size() + static_cast<size_t>(depth)) % 2 == 0 ? 50 : kBudget;
      SCOPED_TRACE(testing::Message()
                   << engine.name << ", depth " << depth << ", bulk rows up to " << bulk_row);
      const auto latencies = LatenciesUnderBulk(depth, engine, 7, bulk_row);
      ASSERT_GT(latencies.size(), 200u);
      EXPECT_LE(latencies[latencies.size() * 99 / 100], 2.0);
      // One may just have missed a hand-over that came before the engine was idle, by the lead and the
      // forecast's error.
      EXPECT_LE(latencies.back(), 2.1);
    }
  }
}

TEST(Waiting, BulkIsNotStarvedByInteractiveRows) {
  for (const int32_t depth : {1, 2, 3}) {
    SCOPED_TRACE(depth);
    Simulation simulation(Options(depth), [](int64_t) { return milliseconds(50); });
    std::mt19937 random(3);
    Clock::time_point bulk_sent;
    std::vector<Clock::duration> waited;
    bool waiting = false;
    simulation.load = [&](Clock::time_point now) {
      if (!waiting) {  // as large as can be, so that small rows would always fit in its place
        Request bulk = RequestOfLengths({kBudget}, Priority::kBulk);
        bulk.done = [&](Reply) {
          waited.push_back(simulation.now() - bulk_sent);
          waiting = false;
        };
        if (simulation.scheduler().Accept(std::move(bulk), now).ok()) bulk_sent = now, waiting = true;
      }
      while (simulation.scheduler().queue().tokens() < 30 * kBudget) {
        std::vector<int32_t> lengths(30, 1 + static_cast<int32_t>(random() % 40));
        if (!simulation.scheduler().Accept(RequestOfLengths(lengths), now).ok()) break;
      }
      return Clock::time_point::max();
    };
    simulation.RunUntil(kStart + seconds(60));
    ASSERT_GT(waited.size(), 20u);
    // The ageing, then as many batches as the engine holds without bulk, those inside the engine, and its
    // own.
    const Clock::duration bound = seconds(1) + milliseconds(50) * (2 * depth + 2);
    EXPECT_LE(*std::max_element(waited.begin(), waited.end()), bound);
  }
}

TEST(Waiting, AgedBulkGetsItsShareUnderInteractiveLoad) {
  for (const int32_t depth : {1, 2}) {
    Simulation simulation(Options(depth), [](int64_t) { return milliseconds(50); });
    int64_t tokens[kPriorities] = {};
    simulation.on_batch = [&](const Batch& batch, Clock::time_point now) {
      if (now < kStart + seconds(2)) return;
      for (const RowRef& row : batch.rows) tokens[static_cast<size_t>(row.request->priority)] += row.tokens();
    };
    simulation.load = [&](Clock::time_point now) {
      for (const Priority priority : {Priority::kInteractive, Priority::kBulk}) {
        while (simulation.scheduler().queue().rows(priority) < 600) {
          if (!simulation.scheduler()
                   .Accept(RequestOfLengths(std::vector<int32_t>(30, 10), priority), now)
                   .ok())
            break;
        }
      }
      return Clock::time_point::max();
    };
    simulation.RunUntil(kStart + seconds(60));
    // Half of every batch that follows `depth` batches without bulk rows.
    const double share = static_cast<double>(tokens[1]) / static_cast<double>(tokens[0] + tokens[1]);
    EXPECT_NEAR(share, 0.5 / (depth + 1), 0.02);
  }
}

TEST(Waiting, ALongRowIsNotPassedBySmallOnesOfItsClass) {
  for (const Priority priority : {Priority::kInteractive, Priority::kBulk}) {
    Simulation simulation(Options(1), [](int64_t) { return milliseconds(50); });
    Ticket last = 0;
    simulation.on_batch = [&](const Batch& batch, Clock::time_point) {
      for (const RowRef& row : batch.rows) {
        EXPECT_GE(row.ticket, last);
        last = row.ticket;
      }
    };
    std::mt19937 random(5);
    simulation.load = [&](Clock::time_point now) {
      for (int i = 0; i < 10; ++i) {
        const int32_t length = random() % 8 == 0 ? kBudget : 1 + static_cast<int32_t>(random() % 20);
        simulation.scheduler().Accept(RequestOfLengths({length}, priority), now).IgnoreError();
      }
      return Clock::time_point::max();
    };
    simulation.RunUntil(kStart + seconds(60));
    EXPECT_GT(last, 500u);
  }
}

TEST(Waiting, TheEngineIsNeverIdleWhileBulkRowsWait) {
  // With room for two, the next bulk batch is there before the one that runs has ended.
  Simulation simulation(Options(2), [](int64_t) { return milliseconds(50); });
  int batches = 0;
  simulation.on_batch = [&](const Batch&, Clock::time_point now) {
    ++batches;
    const Clock::duration phase = (now - kStart) % milliseconds(50);
    if (batches > 2) {
      EXPECT_NEAR(std::chrono::duration<double>(phase).count(),
                  0.050 - std::chrono::duration<double>(kHandOverLead).count(), 1e-6);
    }
  };
  simulation.load = [&](Clock::time_point now) {
    while (simulation.scheduler().Accept(RequestOfLengths({100, 100}, Priority::kBulk), now).ok()) {
    }
    return Clock::time_point::max();
  };
  simulation.RunUntil(kStart + seconds(10));
  EXPECT_EQ(batches, 200 + 1);
}

}  // namespace
}  // namespace trellis::server
