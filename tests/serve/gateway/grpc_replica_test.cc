// A replica behind trellis/v1 over loopback: the same answers as in this process, and what is told when it
// goes.
#include "serve/gateway/grpc_replica.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/engine/cpu/cpu_engine.h"
#include "serve/gateway/grpc_messages.h"
#include "serve/server/grpc_limits.h"
#include "serve/server/grpc_listener.h"
#include "tests/serve/model_files.h"
#include "tests/serve/model_reference.h"

namespace trellis::gateway {
namespace {

class RemoteModel {
 public:
  explicit RemoteModel(const std::string& model) {
    auto engine = engine::OpenCpuEngine(testing::TinyModel(model) + ",dtype=f32,threads=1");
    if (!engine.ok()) ADD_FAILURE() << engine.status();
    const server::ServerOptions options{.max_batch_tokens = 256};
    const server::MessageLimits limits = server::LimitsFor((*engine)->limits(), options, 0);
    auto server = server::Server::Create(*std::move(engine), options, nullptr);
    if (!server.ok()) ADD_FAILURE() << server.status();
    server_ = *std::move(server);
    auto listening = server::GrpcListener::Listen("127.0.0.1:0", limits, nullptr);
    if (!listening.ok()) ADD_FAILURE() << listening.status();
    listener_ = *std::move(listening);
  }
  void Open() { listener_->Open(*server_); }
  std::string target() const { return "127.0.0.1:" + std::to_string(listener_->port()); }
  void Stop() {
    listener_->AnnounceEnd();
    listener_->Stop(std::chrono::milliseconds(100));
    listener_.reset();
  }

 private:
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<server::GrpcListener> listener_;
};

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

}  // namespace
}  // namespace trellis::gateway
