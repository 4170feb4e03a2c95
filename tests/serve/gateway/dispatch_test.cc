// Splitting a client's rows by tokens, and putting their answers together again, over a replica that answers
// when and how a test says.
#include "serve/gateway/dispatch.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/gateway/chunks.h"

namespace trellis::gateway {
namespace {

EncodedRows RowsOf(const std::vector<int>& lengths) {
  EncodedRows rows;
  for (const int length : lengths) {
    for (int t = 0; t < length; ++t) rows.ids.push_back(static_cast<int32_t>(rows.ids.size()));
    rows.cu_seqlens.push_back(static_cast<int32_t>(rows.ids.size()));
  }
  return rows;
}

TEST(SplitByTokens, FillsChunksAndKeepsTheOrder) {
  const EncodedRows rows = RowsOf({4, 4, 3, 9, 1, 1, 1, 1});
  const auto chunks = SplitByTokens(rows, {}, {.max_tokens = 8, .max_rows = 3});
  std::vector<std::vector<int32_t>> shapes;
  std::vector<int32_t> ids;
  for (const ReplicaRequest& chunk : chunks) {
    shapes.push_back(chunk.cu_seqlens);
    ids.insert(ids.end(), chunk.ids.begin(), chunk.ids.end());
    EXPECT_EQ(chunk.rows.size() + 1, chunk.cu_seqlens.size());
    EXPECT_EQ(chunk.priority, server::Priority::kBulk);
  }
  // The row of 9 is longer than a chunk, and goes alone.
  EXPECT_EQ(shapes, (std::vector<std::vector<int32_t>>{{0, 4, 8}, {0, 3}, {0, 9}, {0, 1, 2, 3}, {0, 1}}));
  EXPECT_EQ(ids, rows.ids);
}

TEST(SplitByTokens, WhatFitsIsOneInteractiveChunk) {
  const auto chunks = SplitByTokens(RowsOf({4, 4}), {}, {.max_tokens = 8, .max_rows = 2});
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].priority, server::Priority::kInteractive);
  EXPECT_TRUE(chunks[0].type_ids.empty());
}

TEST(SplitByTokens, TypeIdsGoWithTheirTokens) {
  EncodedRows rows = RowsOf({2, 2});
  rows.type_ids = {0, 1, 2, 3};
  const auto chunks = SplitByTokens(rows, {}, {.max_tokens = 2, .max_rows = 9});
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[1].type_ids, (std::vector<int32_t>{2, 3}));
}

// Keeps what comes until the test answers it.
class HeldReplica final : public Replica {
 public:
  struct Held {
    server::Ticket ticket;
    server::Request request;
  };

  server::Health health() const override { return server::Health::kReady; }
  const ReplicaModel* model() const override { return &model_; }
  server::Ticket Infer(ReplicaRequest request) override {
    const server::Ticket ticket = ++last_;
    if (refuse_next_ > 0) {
      --refuse_next_;
      request.done({absl::ResourceExhaustedError("full"), {}, {}, {}});
    } else {
      held.push_back({ticket, std::move(request)});
    }
    return ticket;
  }
  void Cancel(server::Ticket ticket) override { cancelled.push_back(ticket); }

  void RefuseNext(int requests) { refuse_next_ = requests; }
  // Answers the oldest: one value a row, the row's first id.
  void AnswerOldest(absl::Status status = absl::OkStatus(), absl::Status last_row = absl::OkStatus()) {
    ASSERT_FALSE(held.empty());
    Held oldest = std::move(held.front());
    held.pop_front();
    server::Reply reply;
    reply.status = status;
    for (size_t r = 0; status.ok() && r < oldest.request.rows.size(); ++r) {
      const auto first = static_cast<size_t>(oldest.request.cu_seqlens[r]);
      reply.rows.push_back({absl::OkStatus(), {static_cast<float>(oldest.request.ids[first])}, {}});
    }
    reply.hold = hold;
    if (!last_row.ok()) reply.rows.back() = {last_row, {}, {}};
    oldest.request.done(std::move(reply));
  }

  std::deque<Held> held;
  std::shared_ptr<void> hold = std::make_shared<int>();  // of every answer
  std::vector<server::Ticket> cancelled;

 private:
  ReplicaModel model_;
  server::Ticket last_ = 0;
  int refuse_next_ = 0;
};

class Dispatched : public ::testing::Test {
 protected:
  // Rows of one token each, one a chunk.
  std::shared_ptr<Dispatch> Start(size_t chunks) {
    return Dispatch::Start(
        replica_, SplitByTokens(RowsOf(std::vector<int>(chunks, 1)), {}, {.max_tokens = 1, .max_rows = 1}),
        [this](Dispatch::Outcome outcome) {
          EXPECT_FALSE(outcome_.has_value()) << "a second answer";
          outcome_ = std::move(outcome);
        });
  }

  HeldReplica replica_;
  std::optional<Dispatch::Outcome> outcome_;
};

TEST_F(Dispatched, AFewAtATimeAndInOrder) {
  Start(10);
  EXPECT_EQ(replica_.held.size(), kChunksAtOnce);
  // The second before the first: order is by row, not by time.
  std::swap(replica_.held[0], replica_.held[1]);
  while (!replica_.held.empty()) {
    EXPECT_FALSE(outcome_.has_value());
    EXPECT_LE(replica_.held.size(), kChunksAtOnce);
    replica_.AnswerOldest();
  }
  ASSERT_TRUE(outcome_.has_value());
  ASSERT_TRUE(outcome_->status.ok());
  ASSERT_EQ(outcome_->rows.size(), 10u);
  for (size_t r = 0; r < 10; ++r) EXPECT_EQ(outcome_->rows[r].values[0], static_cast<float>(r));
}

TEST_F(Dispatched, OneChunksAnswerCountsAsUndeliveredUntilTheEnd) {
  Start(1);
  replica_.AnswerOldest();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->hold, replica_.hold);
  outcome_.reset();
  EXPECT_EQ(replica_.hold.use_count(), 1);
}

TEST_F(Dispatched, OfSeveralNoneTakesTheOthersRoom) {
  Start(6);
  while (replica_.held.size() > 1) replica_.AnswerOldest();
  EXPECT_EQ(replica_.hold.use_count(), 1) << "the answers that are here are not counted at the replica";
  replica_.AnswerOldest();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->hold, nullptr);
}

TEST_F(Dispatched, AFullQueueAtOnceIsTheClientsAnswer) {
  replica_.RefuseNext(1);
  Start(1);
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->status.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(Dispatched, AFullQueueInTheMiddleWaitsForOurOwn) {
  Start(6);
  replica_.RefuseNext(1);
  replica_.AnswerOldest();  // the fifth is refused, and waits while three others run
  EXPECT_FALSE(outcome_.has_value());
  EXPECT_EQ(replica_.held.size(), 3u);
  replica_.AnswerOldest();
  EXPECT_EQ(replica_.held.size(), kChunksAtOnce);  // two that ran, and the last two
  while (!replica_.held.empty()) replica_.AnswerOldest();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_TRUE(outcome_->status.ok());
  EXPECT_EQ(outcome_->rows.size(), 6u);
}

TEST_F(Dispatched, AFailureEndsAllAndCancelsTheRest) {
  Start(6);
  replica_.AnswerOldest(absl::InternalError("broken"));
  EXPECT_FALSE(outcome_.has_value()) << "rows that run still use the call";
  EXPECT_EQ(replica_.cancelled.size(), 3u);
  while (!replica_.held.empty()) replica_.AnswerOldest(absl::CancelledError("cancelled"));
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(outcome_->status.message(), "broken");
}

TEST_F(Dispatched, AFailedRowIsNamedByItsPlaceAmongAll) {
  Start(3);
  replica_.AnswerOldest();
  replica_.AnswerOldest(absl::OkStatus(), absl::DataLossError("row 0: value 3 is nan"));
  replica_.AnswerOldest();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(outcome_->status.message(), "input 1: value 3 is nan");
}

TEST_F(Dispatched, CancelDropsWhatIsNotSentAndWaitsForTheRest) {
  const auto dispatch = Start(9);
  dispatch->Cancel();
  EXPECT_EQ(replica_.cancelled.size(), kChunksAtOnce);
  EXPECT_FALSE(outcome_.has_value());
  while (!replica_.held.empty()) replica_.AnswerOldest(absl::CancelledError("cancelled"));
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->status.code(), absl::StatusCode::kCancelled);
  dispatch->Cancel();  // too late, and no harm
}

}  // namespace
}  // namespace trellis::gateway
