#include "serve/server/batcher.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trellis::server {
namespace {

using std::chrono::milliseconds;

const Clock::time_point kStart{std::chrono::hours(1)};
Clock::time_point At(int64_t ms) { return kStart + milliseconds(ms); }

struct Waiting {
  std::vector<QueuedRow> rows[kPriorities];
  QueueView view() const { return {{rows[0], rows[1]}}; }
};
Waiting Lengths(const std::vector<int32_t>& interactive, const std::vector<int32_t>& bulk,
                int64_t arrival_ms = 0) {
  Waiting waiting;
  for (const int32_t tokens : interactive) waiting.rows[0].push_back({tokens, At(arrival_ms)});
  for (const int32_t tokens : bulk) waiting.rows[1].push_back({tokens, At(arrival_ms)});
  return waiting;
}

BatchPolicy Policy() {
  BatchPolicy policy;
  policy.max_tokens = 100;
  policy.max_rows = 8;
  policy.max_in_flight = 2;
  policy.bulk_ageing = milliseconds(1000);
  return policy;
}

void ExpectTakes(const Plan& plan, size_t interactive, size_t bulk) {
  EXPECT_EQ(plan.rows[0], interactive);
  EXPECT_EQ(plan.rows[1], bulk);
}

TEST(Batcher, InteractiveFirstThenBulkFillsUp) {
  ExpectTakes(PlanBatch(Lengths({10, 20}, {30, 30, 30}).view(), {At(1)}, Policy()), 2, 2);
}

TEST(Batcher, FillsTheBudgetToTheLastToken) {
  ExpectTakes(PlanBatch(Lengths({50, 50, 1}, {}).view(), {At(1)}, Policy()), 2, 0);
  ExpectTakes(PlanBatch(Lengths({50, 51, 1}, {}).view(), {At(1)}, Policy()), 1, 0);
  ExpectTakes(PlanBatch(Lengths({100}, {}).view(), {At(1)}, Policy()), 1, 0);
}

TEST(Batcher, RowsAreBoundedToo) {
  ExpectTakes(PlanBatch(Lengths({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}).view(), {At(1)}, Policy()), 5, 3);
}

TEST(Batcher, NothingPassesARowOfItsClassThatDoesNotFit) {
  ExpectTakes(PlanBatch(Lengths({60, 90, 1, 1}, {}).view(), {At(1)}, Policy()), 1, 0);
  ExpectTakes(PlanBatch(Lengths({60}, {90, 1, 1}).view(), {At(1)}, Policy()), 1, 0);
}

TEST(Batcher, BulkIsNotPutBehindARunningBatch) {
  Moment moment{At(1), 1};
  ExpectTakes(PlanBatch(Lengths({10}, {10}).view(), moment, Policy()), 1, 0);
  ExpectTakes(PlanBatch(Lengths({}, {10}).view(), moment, Policy()), 0, 0);
  EXPECT_EQ(PlanBatch(Lengths({}, {10}).view(), moment, Policy()).look_again, Clock::time_point::max());
}

TEST(Batcher, BulkIsHandedOverJustBeforeTheEngineIsIdle) {
  Moment moment{At(1), 1, At(50)};
  Plan plan = PlanBatch(Lengths({}, {10}).view(), moment, Policy());
  ExpectTakes(plan, 0, 0);
  EXPECT_EQ(plan.look_again, At(50) - kHandOverLead);
  moment.now = plan.look_again;
  ExpectTakes(PlanBatch(Lengths({}, {10}).view(), moment, Policy()), 0, 1);
  moment.now = At(70);  // the forecast was wrong
  ExpectTakes(PlanBatch(Lengths({}, {10}).view(), moment, Policy()), 0, 1);
}

TEST(Batcher, DueBulkGetsHalfOfABatch) {
  const Waiting waiting = Lengths({20, 20, 20, 20}, {20, 20, 20, 20});
  Moment moment{At(999), 0, std::nullopt, 2};
  ExpectTakes(PlanBatch(waiting.view(), moment, Policy()), 4, 1);
  moment.now = At(1000);
  ExpectTakes(PlanBatch(waiting.view(), moment, Policy()), 3, 2);
  moment.unfinished = 1;  // due rows go as deep as interactive ones
  ExpectTakes(PlanBatch(waiting.view(), moment, Policy()), 3, 2);
  moment.batches_without_bulk = 1;  // fewer than the engine holds
  ExpectTakes(PlanBatch(waiting.view(), moment, Policy()), 4, 0);
}

TEST(Batcher, ADueRowLargerThanHalfABatchStillGoes) {
  const Moment moment{At(1000), 1, std::nullopt, 2};
  ExpectTakes(PlanBatch(Lengths({20, 20}, {90, 1}).view(), moment, Policy()), 0, 2);
  BatchPolicy policy = Policy();
  policy.max_rows = 1;
  ExpectTakes(PlanBatch(Lengths({20, 20}, {90, 1}).view(), moment, policy), 0, 1);
}

TEST(Batcher, ABatchThatIsNotFullMayWait) {
  BatchPolicy policy = Policy();
  policy.max_wait = milliseconds(5);
  Plan plan = PlanBatch(Lengths({10}, {10}).view(), {At(1)}, policy);
  ExpectTakes(plan, 0, 0);
  EXPECT_EQ(plan.look_again, At(5));
  ExpectTakes(PlanBatch(Lengths({10}, {10}).view(), {At(5)}, policy), 1, 1);
  ExpectTakes(PlanBatch(Lengths({10}, {10, 90}).view(), {At(1)}, policy), 1,
              1);  // nothing more would fit in order
  ExpectTakes(PlanBatch(Lengths({10, 95}, {}).view(), {At(1)}, policy), 1, 0);
  ExpectTakes(PlanBatch(Lengths({50, 50}, {}).view(), {At(1)}, policy), 2, 0);
  ExpectTakes(PlanBatch(Lengths({1, 1, 1, 1, 1, 1, 1, 1}, {}).view(), {At(1)}, policy), 8, 0);
}

TEST(Batcher, WaitsForTheOldestRowOnlySoLong) {
  BatchPolicy policy = Policy();
  policy.max_wait = milliseconds(5);
  Waiting waiting = Lengths({10}, {10}, 3);
  waiting.rows[1][0].arrival = At(2);
  EXPECT_EQ(PlanBatch(waiting.view(), {At(3)}, policy).look_again, At(7));
}

TEST(Batcher, DoesNotWaitPastADeadline) {
  BatchPolicy policy = Policy();
  policy.max_wait = milliseconds(5);
  Waiting waiting = Lengths({10, 10}, {});
  waiting.rows[0][1].deadline = At(5);
  ExpectTakes(PlanBatch(waiting.view(), {At(1)}, policy), 2, 0);
  waiting.rows[0][1].deadline = At(6);
  ExpectTakes(PlanBatch(waiting.view(), {At(1)}, policy), 0, 0);
}

// Whatever waits and whenever: what must hold of every plan.
TEST(Batcher, HoldsItsPromisesForAnyQueue) {
  size_t due_plans = 0, waits = 0, cut_short = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
    BatchPolicy policy;
    policy.max_tokens = 20 + below(100);
    policy.max_rows = static_cast<size_t>(1 + below(10));
    policy.max_in_flight = static_cast<int32_t>(1 + below(3));
    policy.bulk_ageing = milliseconds(below(50));
    policy.max_wait = milliseconds(below(2) == 0 ? 0 : below(150));
    Waiting waiting;
    for (auto& rows : waiting.rows) {
      int64_t arrival = below(30);
      for (int64_t n = below(12); n > 0; --n) {
        const auto most = static_cast<uint32_t>(below(2) == 0 ? policy.max_tokens : 8);
        rows.push_back({static_cast<int32_t>(1 + below(most)), At(arrival)});
        if (below(4) == 0) rows.back().deadline = At(30 + below(100));
        arrival += below(10);
      }
    }
    Moment moment{At(30 + below(100)),
                  static_cast<int32_t>(below(static_cast<uint32_t>(policy.max_in_flight)))};
    if (below(2) == 0) moment.idle_at = moment.now + milliseconds(below(40) - 10);
    moment.batches_without_bulk = static_cast<int32_t>(below(5));
    const auto& interactive = waiting.rows[0];
    const auto& bulk = waiting.rows[1];

    const Plan plan = PlanBatch(waiting.view(), moment, policy);

    ASSERT_LE(plan.rows[0], interactive.size());
    ASSERT_LE(plan.rows[1], bulk.size());
    int64_t tokens = 0, bulk_tokens = 0;
    for (size_t i = 0; i < plan.rows[0]; ++i) tokens += interactive[i].tokens;
    for (size_t i = 0; i < plan.rows[1]; ++i) bulk_tokens += bulk[i].tokens;
    tokens += bulk_tokens;
    ASSERT_EQ(tokens, plan.tokens);
    ASSERT_LE(tokens, policy.max_tokens) << "over the token budget";
    ASSERT_LE(plan.num_rows(), policy.max_rows) << "over the row budget";

    const bool due = !bulk.empty() && moment.now - bulk[0].arrival >= policy.bulk_ageing &&
                     moment.batches_without_bulk >= policy.max_in_flight;
    const bool idle =
        moment.unfinished == 0 || (moment.idle_at && *moment.idle_at - kHandOverLead <= moment.now);
    const auto room_for = [&](const QueuedRow& row) {
      return tokens + row.tokens <= policy.max_tokens && plan.num_rows() < policy.max_rows;
    };
    if (plan.num_rows() == 0) {
      const bool allowed = !interactive.empty() || (!bulk.empty() && (idle || due));
      if (allowed) {
        ASSERT_GT(plan.look_again, moment.now) << "neither a batch nor a time to ask again";
        ASSERT_LE(plan.look_again, moment.now + policy.max_wait);
        ++waits;
      } else if (!bulk.empty() && moment.idle_at) {
        ASSERT_EQ(plan.look_again, *moment.idle_at - kHandOverLead);
      } else {
        ASSERT_EQ(plan.look_again, Clock::time_point::max());
      }
      continue;
    }
    if (plan.rows[1] > 0) {
      ASSERT_TRUE(idle || due) << "bulk rows behind a batch that still runs";
    }
    if (plan.rows[0] < interactive.size()) {
      ASSERT_FALSE(room_for(interactive[plan.rows[0]])) << "an interactive row was left for no reason";
      if (!due && plan.rows[1] > 0) {
        ASSERT_GT(tokens - bulk_tokens + interactive[plan.rows[0]].tokens, policy.max_tokens)
            << "bulk rows in the place of an interactive one";
      }
    }
    if ((idle || due) && plan.rows[1] < bulk.size()) {
      ASSERT_FALSE(room_for(bulk[plan.rows[1]])) << "a bulk row was left for no reason";
    }
    if (due) {
      ASSERT_GE(plan.rows[1], 1u) << "a due row was passed over";
      if (plan.rows[0] < interactive.size()) ++due_plans;
    }
    if (plan.rows[0] < interactive.size()) ++cut_short;
  }
  // The cases meant above did occur.
  EXPECT_GT(due_plans, 500u);
  EXPECT_GT(waits, 200u);
  EXPECT_GT(cut_short, 500u);
}

}  // namespace
}  // namespace trellis::server
