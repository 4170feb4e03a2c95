// The scheduler stepped by hand: no threads, no engine, no clock.
#include "serve/server/scheduler.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/serve/server/counting_observer.h"
#include "tests/serve/server/requests.h"

namespace trellis::server {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;

Clock::time_point At(int64_t ms) { return Clock::time_point(std::chrono::hours(1)) + milliseconds(ms); }

class Stepped : public testing::Test {
 protected:
  Stepped() {
    options_.policy.max_tokens = 10;
    options_.policy.max_rows = 4;
    options_.policy.max_in_flight = 2;
    options_.policy.bulk_ageing = milliseconds(1000);
    options_.max_queued_tokens = 40;
    options_.max_queued_tokens_bulk = 35;
    options_.max_held_tokens = 200;
  }
  Scheduler& scheduler() {
    if (!scheduler_) scheduler_ = std::make_unique<Scheduler>(options_, &observer_);
    return *scheduler_;
  }
  Ticket Accept(Request request, Clock::time_point now = At(0)) {
    const size_t index = replies_.size();
    replies_.emplace_back();
    request.done = [this, index](Reply reply) { replies_[index].push_back(std::move(reply)); };
    const auto ticket = scheduler().Accept(std::move(request), now);
    EXPECT_TRUE(ticket.ok()) << ticket.status();
    return ticket.ok() ? *ticket : 0;
  }
  Batch Take(Clock::time_point now = At(1)) {
    auto next = scheduler().Take(now);
    EXPECT_TRUE(next.batch.has_value());
    return next.batch ? *std::move(next.batch) : Batch{};
  }
  static std::vector<RowReply> Good(const Batch& batch) {
    std::vector<RowReply> replies(batch.rows.size());
    for (size_t i = 0; i < replies.size(); ++i) replies[i].values = {static_cast<float>(batch.rows[i].row)};
    return replies;
  }
  void Finish(Batch batch, Clock::time_point now = At(2)) {
    scheduler().LeaveEngine(milliseconds(1), now);
    auto replies = Good(batch);
    scheduler().Finish(std::move(batch), std::move(replies), now);
  }
  void Fail(Batch batch, const absl::Status& status) {
    scheduler().LeaveEngine(std::nullopt, At(2));
    scheduler().Fail(std::move(batch), status, At(2));
  }
  void Deliver() {
    for (Answer& answer : scheduler().TakeAnswers()) {
      answer.done(std::move(answer.reply));
      scheduler().Answered(answer.held);
    }
  }
  // The only answer of the n-th request.
  Reply AnswerOf(size_t n) {
    Deliver();
    EXPECT_EQ(replies_[n].size(), 1u);
    return replies_[n].empty() ? Reply{} : replies_[n][0];
  }

  SchedulerOptions options_;
  CountingObserver observer_;
  std::vector<std::vector<Reply>> replies_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(Stepped, AnswersWhenTheLastRowIsDone) {
  Accept(RequestOfLengths({6, 6}));
  Batch first = Take(At(1)), second = Take(At(3));
  EXPECT_EQ(first.rows.size(), 1u);
  Finish(std::move(first), At(4));
  Deliver();
  EXPECT_TRUE(replies_[0].empty());
  Finish(std::move(second), At(9));
  const Reply reply = AnswerOf(0);
  EXPECT_TRUE(reply.status.ok());
  ASSERT_EQ(reply.rows.size(), 2u);
  EXPECT_EQ(reply.rows[0].values, (std::vector<float>{0}));
  EXPECT_EQ(reply.rows[1].values, (std::vector<float>{1}));
  EXPECT_EQ(reply.timings.queue, milliseconds(1));
  EXPECT_EQ(reply.timings.forward, milliseconds(8));
  EXPECT_TRUE(scheduler().settled());
}

TEST_F(Stepped, RefusesWhatDoesNotFitAndSaysWhy) {
  Accept(RequestOfLengths({10, 10, 10}));
  const auto full = scheduler().Accept(RequestOfLengths({10, 1}), At(0));
  EXPECT_EQ(full.status(),
            absl::ResourceExhaustedError("queue full: 30 tokens wait, 11 more would exceed 40"));
  const auto bulk = scheduler().Accept(RequestOfLengths({6}, Priority::kBulk), At(0));
  EXPECT_EQ(bulk.status(),
            absl::ResourceExhaustedError("queue full: 30 tokens wait, 6 more would exceed 35"));
  EXPECT_TRUE(scheduler().Accept(RequestOfLengths({10}), At(0)).ok());
  Request late = RequestOfLengths({1});
  late.deadline = At(0);
  EXPECT_EQ(scheduler().Accept(std::move(late), At(0)).status().code(), StatusCode::kDeadlineExceeded);
  scheduler().StartDraining();
  EXPECT_EQ(scheduler().Accept(RequestOfLengths({1}), At(0)).status().code(), StatusCode::kUnavailable);
  const auto refused = observer_.counts().refused;
  EXPECT_EQ(refused.at(Observer::Refusal::kQueueFull), 2u);
  EXPECT_EQ(refused.at(Observer::Refusal::kDeadline), 1u);
  EXPECT_EQ(refused.at(Observer::Refusal::kDraining), 1u);
}

TEST_F(Stepped, RefusesWhenAnswersAreNotCollected) {
  options_.max_held_tokens = 50;
  for (int i = 0; i < 5; ++i) scheduler().Cancel(Accept(RequestOfLengths({10})), At(0));
  EXPECT_EQ(scheduler().Accept(RequestOfLengths({1}), At(0)).status().code(), StatusCode::kResourceExhausted);
  Deliver();
  EXPECT_TRUE(scheduler().Accept(RequestOfLengths({10}), At(0)).ok());
}

TEST_F(Stepped, RefusesMoreRequestsThanMayWait) {
  options_.max_queued_requests = 3;
  options_.max_queued_requests_bulk = 2;
  for (int i = 0; i < 2; ++i) Accept(RequestOfLengths({1}));
  EXPECT_EQ(scheduler().Accept(RequestOfLengths({1}, Priority::kBulk), At(0)).status(),
            absl::ResourceExhaustedError("queue full: 2 requests wait, at most 2 may"));
  Accept(RequestOfLengths({1}));
  EXPECT_EQ(scheduler().Accept(RequestOfLengths({1}), At(0)).status(),
            absl::ResourceExhaustedError("queue full: 3 requests wait, at most 3 may"));
  EXPECT_EQ(observer_.counts().refused.at(Observer::Refusal::kTooManyRequests), 2u);
  Finish(Take());
  Accept(RequestOfLengths({1}));  // room again
}

// Of what waits, what is being answered, and what was answered but has not reached its caller.
TEST_F(Stepped, RefusesWhenTooMuchIsUndelivered) {
  options_.max_held_requests = 4;
  options_.max_answer_bytes = 1000;
  const auto accept = [&](int64_t bytes, const Held& undelivered) {
    Request request = RequestOfLengths({1});
    request.done = [](Reply) {};
    return scheduler().Accept(std::move(request), At(0), bytes, undelivered).status();
  };
  EXPECT_TRUE(accept(400, {}).ok());
  EXPECT_EQ(accept(300, {.requests = 1, .tokens = 1, .answer_bytes = 301}),
            absl::ResourceExhaustedError(
                "too much is not yet answered and delivered: 701 bytes of answers, 300 more "
                "would exceed 1000"));
  EXPECT_TRUE(accept(300, {.requests = 1, .tokens = 1, .answer_bytes = 300}).ok());
  EXPECT_EQ(accept(1, {.requests = 2}),
            absl::ResourceExhaustedError(
                "too much is not yet answered and delivered: 4 requests, 1 more would exceed 4"));
  EXPECT_EQ(observer_.counts().refused.at(Observer::Refusal::kUndelivered), 2u);
  Finish(Take());
  Deliver();
  EXPECT_TRUE(accept(1000, {}).ok());
}

TEST_F(Stepped, AnAnswerThatBecameTooLongIsNone) {
  for (const int64_t limit : {int64_t{1000}, int64_t{100}}) {
    Request request = RequestOfLengths({1});
    request.max_answer_bytes = limit;
    Accept(std::move(request));
    Batch batch = Take();
    std::vector<RowReply> replies(1);
    replies[0].values.resize(100, 1.0f);  // 64 + 10 + 400 bytes
    scheduler().LeaveEngine(milliseconds(1), At(2));
    scheduler().Finish(std::move(batch), std::move(replies), At(2));
  }
  EXPECT_TRUE(AnswerOf(0).status.ok());
  const Reply late = AnswerOf(1);
  EXPECT_EQ(late.status,
            absl::ResourceExhaustedError("the answer became 474 bytes long, more than the 100 that it "
                                         "may have: send fewer rows at once"));
  EXPECT_TRUE(late.rows.empty());
  EXPECT_EQ(observer_.counts().requests.at(StatusCode::kResourceExhausted), 1u);
}

TEST_F(Stepped, KeepsToTheEnginesDepth) {
  for (int i = 0; i < 4; ++i) Accept(RequestOfLengths({10}));
  Batch a = Take(), b = Take();
  EXPECT_FALSE(scheduler().Take(At(1)).batch.has_value());
  Finish(std::move(a));
  Take();
  EXPECT_FALSE(scheduler().Take(At(1)).batch.has_value());
}

TEST_F(Stepped, ACancelledRowEntersNoLaterBatch) {
  const Ticket ticket = Accept(RequestOfLengths({10, 10}));
  Accept(RequestOfLengths({3}));
  Batch first = Take();
  scheduler().Cancel(ticket, At(1));
  scheduler().Cancel(ticket, At(1));
  EXPECT_EQ(AnswerOf(0).status.code(), StatusCode::kCancelled) << "at once, though a row is in the engine";
  Batch second = Take();
  ASSERT_EQ(second.rows.size(), 1u);
  EXPECT_NE(second.rows[0].ticket, ticket);
  Finish(std::move(first));
  Finish(std::move(second));
  Deliver();
  EXPECT_EQ(replies_[0].size(), 1u);
  EXPECT_EQ(observer_.counts().rows.at(StatusCode::kCancelled), 2u);
  EXPECT_EQ(observer_.counts().in_flight_rows, 0u);
  EXPECT_EQ(observer_.counts().queued_tokens, 0u);
}

TEST_F(Stepped, ADeadlineDropsRowsBeforeTheEngineSeesThem) {
  Request request = RequestOfLengths({10});
  request.deadline = At(5);
  Accept(std::move(request));
  Accept(RequestOfLengths({3}));
  EXPECT_EQ(scheduler().next_deadline(), At(5));
  scheduler().Expire(At(4));
  EXPECT_FALSE(scheduler().has_answers());
  Batch batch = Take(At(5));
  ASSERT_EQ(batch.rows.size(), 1u);
  EXPECT_EQ(batch.rows[0].tokens(), 3);
  EXPECT_EQ(AnswerOf(0).status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(scheduler().next_deadline(), Clock::time_point::max());
}

TEST_F(Stepped, ADeadlineIsAnsweredWhileTheEngineHasTheRow) {
  Request request = RequestOfLengths({10});
  request.deadline = At(5);
  Accept(std::move(request));
  Batch batch = Take();
  scheduler().Expire(At(5));
  EXPECT_EQ(AnswerOf(0).status.code(), StatusCode::kDeadlineExceeded);
  Finish(std::move(batch), At(6));
  EXPECT_EQ(observer_.counts().requests_done(), 1u);
}

TEST_F(Stepped, AFailedRowFailsAlone) {
  Accept(RequestOfLengths({2, 2, 2}));
  Batch batch = Take();
  auto replies = Good(batch);
  replies[1].status = absl::DataLossError("nan");
  scheduler().LeaveEngine(milliseconds(1), At(2));
  scheduler().Finish(std::move(batch), std::move(replies), At(2));
  const Reply reply = AnswerOf(0);
  EXPECT_TRUE(reply.status.ok());
  EXPECT_TRUE(reply.rows[0].status.ok());
  EXPECT_EQ(reply.rows[1].status.code(), StatusCode::kDataLoss);
  EXPECT_TRUE(reply.rows[2].status.ok());
  EXPECT_EQ(observer_.counts().retried_rows, 0u);
}

TEST_F(Stepped, AFailedBatchIsRetriedOnceRowByRow) {
  Accept(RequestOfLengths({2, 2, 2}));
  Fail(Take(), absl::InternalError("bad batch"));
  EXPECT_EQ(observer_.counts().retried_rows, 3u);
  EXPECT_EQ(observer_.counts().in_flight_rows, 3u);
  for (size_t i = 0; i < 3; ++i) {
    Batch retry = Take();
    ASSERT_EQ(retry.rows.size(), 1u);
    EXPECT_EQ(retry.rows[0].row, i);
    EXPECT_EQ(retry.attempt, Batch::Attempt::kRetry);
    if (i == 1) {
      Fail(std::move(retry), absl::InternalError("bad row"));
    } else {
      Finish(std::move(retry));
    }
  }
  EXPECT_FALSE(scheduler().Take(At(3)).batch.has_value()) << "retried twice";
  const Reply reply = AnswerOf(0);
  EXPECT_TRUE(reply.status.ok());
  EXPECT_TRUE(reply.rows[0].status.ok());
  EXPECT_EQ(reply.rows[1].status, absl::InternalError("row 1: failed in a batch and alone: bad row"));
  EXPECT_TRUE(reply.rows[2].status.ok());
}

TEST_F(Stepped, ABatchTheEngineTurnsAwayIsRetriedToo) {
  Accept(RequestOfLengths({2}));
  Batch batch = Take();
  scheduler().TurnedAway();
  scheduler().Fail(std::move(batch), absl::InternalError("no"), At(1));
  Batch retry = Take();
  EXPECT_EQ(retry.attempt, Batch::Attempt::kRetry);
  Finish(std::move(retry));
  EXPECT_TRUE(AnswerOf(0).rows[0].status.ok());
}

TEST_F(Stepped, RetriesTakeTurnsWithInteractiveRows) {
  Accept(RequestOfLengths({2, 2, 2, 2}, Priority::kBulk));
  Fail(Take(), absl::InternalError("bad batch"));
  Accept(RequestOfLengths({10, 10}));
  std::vector<Batch::Attempt> order;
  for (int i = 0; i < 6; ++i) {
    Batch batch = Take();
    order.push_back(batch.attempt);
    Finish(std::move(batch));
  }
  constexpr auto kFirst = Batch::Attempt::kFirst, kRetry = Batch::Attempt::kRetry;
  EXPECT_EQ(order, (std::vector<Batch::Attempt>{kRetry, kFirst, kRetry, kFirst, kRetry, kRetry}));
}

TEST_F(Stepped, ACancelledRowIsNotRetried) {
  const Ticket ticket = Accept(RequestOfLengths({2, 2}));
  Accept(RequestOfLengths({2}));
  Batch batch = Take();
  ASSERT_EQ(batch.rows.size(), 3u);
  Fail(std::move(batch), absl::InternalError("bad batch"));
  scheduler().Cancel(ticket, At(2));
  Batch retry = Take();
  EXPECT_NE(retry.rows[0].ticket, ticket);
  Finish(std::move(retry));
  EXPECT_FALSE(scheduler().Take(At(3)).batch.has_value());
  EXPECT_EQ(observer_.counts().in_flight_rows, 0u);
}

TEST_F(Stepped, CancelledBeforeTheBatchFailsMeansNoRetry) {
  const Ticket ticket = Accept(RequestOfLengths({2, 2}));
  Batch batch = Take();
  scheduler().Cancel(ticket, At(2));
  Fail(std::move(batch), absl::InternalError("bad batch"));
  EXPECT_EQ(observer_.counts().retried_rows, 0u);
  EXPECT_FALSE(scheduler().Take(At(3)).batch.has_value());
  EXPECT_EQ(observer_.counts().in_flight_rows, 0u);
}

TEST_F(Stepped, ADeadEngineEndsEveryRequest) {
  for (int i = 0; i < 3; ++i) Accept(RequestOfLengths({10}));
  Batch a = Take(), b = Take();
  Fail(std::move(a), absl::UnavailableError("out of magic"));
  EXPECT_EQ(scheduler().health(), Health::kDead);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(AnswerOf(i).status, absl::UnavailableError("the engine is dead: out of magic"));
  }
  EXPECT_FALSE(scheduler().Take(At(3)).batch.has_value());
  Finish(std::move(b));
  EXPECT_FALSE(scheduler().has_answers());
  const auto refused = scheduler().Accept(RequestOfLengths({1}), At(3));
  EXPECT_EQ(refused.status(), absl::UnavailableError("the engine is dead: out of magic"));
  EXPECT_EQ(observer_.counts().refused.at(Observer::Refusal::kDead), 1u);
  EXPECT_TRUE(scheduler().settled());
  scheduler().StartDraining();
  EXPECT_EQ(scheduler().health(), Health::kDead);
}

TEST_F(Stepped, DrainingServesWhatIsThereWithoutWaiting) {
  options_.policy.max_wait = milliseconds(100);
  Accept(RequestOfLengths({1}));
  const auto next = scheduler().Take(At(1));
  EXPECT_FALSE(next.batch.has_value());
  EXPECT_EQ(next.look_again, At(100));
  scheduler().StartDraining();
  EXPECT_EQ(scheduler().health(), Health::kDraining);
  Finish(Take(At(1)));
  EXPECT_TRUE(AnswerOf(0).status.ok());
}

TEST_F(Stepped, LearnsWhenTheEngineWillBeIdle) {
  Accept(RequestOfLengths({10}, Priority::kBulk));
  Batch batch = Take(At(0));
  scheduler().LeaveEngine(milliseconds(50), At(50));
  auto replies = Good(batch);
  scheduler().Finish(std::move(batch), std::move(replies), At(50));
  Accept(RequestOfLengths({10, 10}, Priority::kBulk), At(50));
  Take(At(60));
  const auto next = scheduler().Take(At(60));
  EXPECT_FALSE(next.batch.has_value());
  EXPECT_EQ(next.look_again, At(110) - kHandOverLead);
  EXPECT_TRUE(scheduler().Take(next.look_again).batch.has_value());
}

}  // namespace
}  // namespace trellis::server
