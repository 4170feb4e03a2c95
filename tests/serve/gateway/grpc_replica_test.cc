// A replica behind trellis/v1 over loopback: the same answers as in this process, and what is told when it
// goes.
#include "serve/gateway/grpc_replica.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/gateway/grpc_messages.h"
#include "tests/serve/gateway/remote_model.h"
#include "tests/serve/model_reference.h"

namespace trellis::gateway {
namespace {

void WaitFor(const GrpcReplica& replica, server::Health health) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (replica.health() != health && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(replica.health(), health);
}

server::Reply Ask(GrpcReplica& replica, const testing::ReferenceRow& row, const engine::RowTask& task) {
  server::Request request;
  request.ids = row.ids;
  request.cu_seqlens = {0, static_cast<int32_t>(row.ids.size())};
  request.rows = {task};
  std::promise<server::Reply> answered;
  request.done = [&](server::Reply reply) { answered.set_value(std::move(reply)); };
  replica.Infer(std::move(request));
  return answered.get_future().get();
}

TEST(GrpcReplica, AnswersAsTheReferenceSays) {
  RemoteModel remote("tiny-m3");
  GrpcReplica replica(remote.target());
  EXPECT_EQ(replica.health(), server::Health::kStarting);
  EXPECT_EQ(replica.model(), nullptr);
  remote.Open();
  WaitFor(replica, server::Health::kReady);
  ASSERT_NE(replica.model(), nullptr);
  const engine::EngineLimits& limits = replica.model()->limits;
  EXPECT_EQ(limits.dimensions, 32);
  EXPECT_EQ(limits.max_row_tokens, 64);
  EXPECT_EQ(replica.model()->max_batch_tokens, 256);
  EXPECT_TRUE(limits.tasks[static_cast<size_t>(engine::Task::kSparse)]);
  EXPECT_FALSE(limits.tasks[static_cast<size_t>(engine::Task::kClassify)]);
  for (const testing::ReferenceRow& row : testing::ReferenceRows("tiny-m3")) {
    const server::Reply embedded = Ask(replica, row, {.task = engine::Task::kEmbed});
    ASSERT_TRUE(embedded.status.ok()) << embedded.status;
    const std::vector<float>& expected = row.answers.at("embedding");
    ASSERT_EQ(embedded.rows[0].values.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(embedded.rows[0].values[i], expected[i], 1e-5f);
    const server::Reply sparse = Ask(replica, row, {.task = engine::Task::kSparse});
    ASSERT_TRUE(sparse.status.ok()) << sparse.status;
    EXPECT_EQ(sparse.rows[0].indices, row.sparse_ids);
  }
  const server::Reply refused =
      Ask(replica, testing::ReferenceRows("tiny-m3")[1], {.task = engine::Task::kClassify});
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(refused.status.message().empty());
}

TEST(GrpcReplica, IsNotReadyOnceItsServerIsGone) {
  RemoteModel remote("tiny-bert");
  GrpcReplica replica(remote.target());
  remote.Open();
  WaitFor(replica, server::Health::kReady);
  remote.Stop();
  const server::Reply reply = Ask(replica, testing::ReferenceRows("tiny-bert")[1], {});
  EXPECT_EQ(reply.status.code(), absl::StatusCode::kUnavailable) << reply.status;
  WaitFor(replica, server::Health::kDraining);
  EXPECT_NE(replica.model(), nullptr) << "what it ran stays known";
}

TEST(GrpcMessages, OddRepliesAreRefused) {
  v1::InferReply good;
  good.set_values(std::string(8, '\0'));
  for (const int offset : {0, 1, 2}) good.add_value_offsets(offset);
  ASSERT_TRUE(FromWire(good, 2).status.ok());
  EXPECT_EQ(FromWire(good, 2).rows.size(), 2u);
  EXPECT_EQ(FromWire(good, 1).status.code(), absl::StatusCode::kInternal);
  v1::InferReply odd = good;
  odd.set_values(std::string(7, '\0'));
  EXPECT_EQ(FromWire(odd, 2).status.code(), absl::StatusCode::kInternal);
  odd = good;
  odd.set_value_offsets(1, 3);
  EXPECT_EQ(FromWire(odd, 2).status.code(), absl::StatusCode::kInternal);
  odd = good;
  odd.set_value_offsets(0, -1);
  EXPECT_EQ(FromWire(odd, 2).status.code(), absl::StatusCode::kInternal);
  odd = good;
  odd.add_index_offsets(5);
  EXPECT_EQ(FromWire(odd, 2).status.code(), absl::StatusCode::kInternal);
  odd = good;
  odd.add_failures()->set_row(2);
  EXPECT_EQ(FromWire(odd, 2).status.code(), absl::StatusCode::kInternal);
  odd = good;
  v1::RowFailure& failure = *odd.add_failures();
  failure.set_row(1);
  failure.set_code(15);
  failure.set_message("row 1: nan");
  const server::Reply failed = FromWire(odd, 2);
  ASSERT_TRUE(failed.status.ok());
  EXPECT_TRUE(failed.rows[0].status.ok());
  EXPECT_EQ(failed.rows[1].status.code(), absl::StatusCode::kDataLoss);
}

// What the routes count on: rerank takes a row's first value, and JSON has no NaN.
TEST(GrpcMessages, RowsThatAreNotWhatWasAskedForFail) {
  engine::EngineLimits limits;
  limits.dimensions = 4;
  limits.labels = 3;
  const auto expect = [&](v1::Task task, int32_t dimensions, std::vector<float> values,
                          std::vector<int32_t> indices, absl::StatusCode code) {
    v1::InferRequest asked;
    v1::RowTask& wanted = *asked.add_tasks();
    wanted.set_task(task);
    wanted.set_dimensions(dimensions);
    for (const int bound : {0, 2}) asked.add_cu_seqlens(bound);  // two tokens
    server::Reply reply;
    reply.rows.emplace_back();
    reply.rows[0].values = std::move(values);
    reply.rows[0].indices = std::move(indices);
    CheckRows(asked, limits, reply);
    EXPECT_EQ(reply.rows[0].status.code(), code) << reply.rows[0].status;
  };
  const auto kOk = absl::StatusCode::kOk, kOdd = absl::StatusCode::kInternal,
             kNan = absl::StatusCode::kDataLoss;
  expect(v1::TASK_EMBED, 0, {1, 2, 3, 4}, {}, kOk);
  expect(v1::TASK_EMBED, 2, {1, 2}, {}, kOk);
  expect(v1::TASK_EMBED, 2, {1, 2, 3, 4}, {}, kOdd);
  expect(v1::TASK_EMBED, 0, {}, {}, kOdd);
  expect(v1::TASK_EMBED_ALL, 0, std::vector<float>(8), {}, kOk);
  expect(v1::TASK_EMBED_ALL, 0, std::vector<float>(7), {}, kOdd);
  expect(v1::TASK_CLASSIFY, 0, {1, 2, 3}, {}, kOk);
  expect(v1::TASK_CLASSIFY, 0, {}, {}, kOdd);
  expect(v1::TASK_SPARSE, 0, {1, 2}, {5, 6}, kOk);
  expect(v1::TASK_SPARSE, 0, {1, 2}, {5}, kOdd);
  expect(v1::TASK_SPARSE, 0, {}, {}, kOk);
  expect(v1::TASK_EMBED, 2, {1, std::nanf("")}, {}, kNan);
  expect(v1::TASK_CLASSIFY, 0, {1, HUGE_VALF, 3}, {}, kNan);
}

}  // namespace
}  // namespace trellis::gateway
