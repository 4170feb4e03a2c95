// The face over a real connection, with a fake server behind it: what reaches the server, and what comes of
// its answers.
#include "serve/server/grpc_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <string>

#include "grpcpp/generic/generic_stub.h"
#include "tests/serve/grpc/fake_server.h"
#include "tests/serve/grpc/loopback.h"

namespace trellis::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

class CountingObserver : public Observer {
 public:
  void Refused(Refusal reason) override { ++refused[static_cast<size_t>(reason)]; }
  std::atomic<int> refused[kRefusals] = {};
};

class GrpcServiceTest : public testing::Test {
 protected:
  FakeServer server_;
  CountingObserver observer_;
  Loopback loopback_{LimitsFor(FakeLimits(), {}, 0), &observer_};

  void SetUp() override { loopback_.listener().Open(server_); }
};

TEST_F(GrpcServiceTest, RowsGoInAndComeOut) {
  server_.AnswerAtOnce(EmbedRows);
  const auto [status, reply] = loopback_.Infer(RowsOf({3, 1, 2}));
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(reply.value_offsets_size(), 4);
  EXPECT_EQ(RowValues(reply, 0), (std::vector<float>{3, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(RowValues(reply, 1), (std::vector<float>{1, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(RowValues(reply, 2), (std::vector<float>{2, 5, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(reply.timings().queue_ns(), 3000);
  EXPECT_EQ(reply.timings().forward_ns(), 5000);
  EXPECT_GT(reply.timings().total_ns(), 0);
}

TEST_F(GrpcServiceTest, ARowsFailureIsTheRows) {
  server_.AnswerAtOnce([](const Request& request) {
    Reply reply = EmbedRows(request);
    reply.rows[1].status = absl::InternalError("row 1: the engine says so");
    return reply;
  });
  const auto [status, reply] = loopback_.Infer(RowsOf({3, 1, 2}));
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(reply.failures_size(), 1);
  EXPECT_EQ(reply.failures(0).row(), 1);
  EXPECT_EQ(reply.failures(0).code(), grpc::StatusCode::INTERNAL);
  EXPECT_TRUE(RowValues(reply, 1).empty());
  EXPECT_EQ(RowValues(reply, 2)[0], 2.0f);
}

TEST_F(GrpcServiceTest, EveryRefusalKeepsCodeAndMessage) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition,
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kUnavailable}) {
    server_.RefuseWith(absl::Status(code, "because of " + std::to_string(static_cast<int>(code))));
    const auto [status, reply] = loopback_.Infer(RowsOf({1}));
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(code));
    EXPECT_EQ(status.error_message(), "because of " + std::to_string(static_cast<int>(code)));
  }
  for (const std::atomic<int>& refused : observer_.refused)
    EXPECT_EQ(refused, 0);  // the server's own to report
}

TEST_F(GrpcServiceTest, ARequestThatEndsEarlyEndsWithItsStatus) {
  server_.AnswerAtOnce([](const Request&) {
    return Reply{absl::UnavailableError("the engine is dead"), {}, {}, {}};
  });
  const auto [status, reply] = loopback_.Infer(RowsOf({1}));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the engine is dead");
}

TEST_F(GrpcServiceTest, AMalformedRequestNeverReachesTheServer) {
  v1::InferRequest request = RowsOf({1});
  request.clear_tasks();
  const auto [status, reply] = loopback_.Infer(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(server_.submitted(), 0);
  EXPECT_EQ(observer_.refused[static_cast<size_t>(Observer::Refusal::kInvalid)], 1);
}

// Sends bytes that need not be a message at all.
grpc::Status SendBytes(grpc::GenericStub& stub, const std::string& bytes) {
  grpc::ClientContext call;
  grpc::ByteBuffer reply;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer message(&slice, 1);
  std::promise<grpc::Status> status;
  stub.UnaryCall(&call, "/trellis.v1.Inference/Infer", {}, &message, &reply,
                 [&](grpc::Status ended) { status.set_value(std::move(ended)); });
  return status.get_future().get();
}

TEST_F(GrpcServiceTest, AnyBytesGetAStatus) {
  server_.AnswerAtOnce(EmbedRows);
  grpc::GenericStub stub(ChannelTo(loopback_.listener().port()));
  EXPECT_EQ(SendBytes(stub, "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SendBytes(stub, "no message").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const std::string good = RowsOf({2, 5, 1}).SerializeAsString();
  EXPECT_TRUE(SendBytes(stub, good).ok());
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = good;
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    for (unsigned change = random() % 4; change > 0 && !bytes.empty(); --change) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const grpc::StatusCode code = SendBytes(stub, bytes).error_code();
    ASSERT_TRUE(code == grpc::StatusCode::OK || code == grpc::StatusCode::INVALID_ARGUMENT)
        << code << " in round " << round;
  }
  EXPECT_TRUE(SendBytes(stub, good).ok());
}

TEST_F(GrpcServiceTest, TheDeadlineReachesTheServer) {
  server_.AnswerAtOnce([](const Request& request) {
    Reply reply = EmbedRows(request);
    const auto left = request.deadline - Clock::now();
    reply.rows[0].values[2] =
        left > std::chrono::minutes(50) && left < std::chrono::minutes(70) ? 1.0f : 0.0f;
    reply.rows[0].values[3] = request.deadline == Clock::time_point::max() ? 1.0f : 0.0f;
    return reply;
  });
  grpc::ClientContext call;
  call.set_deadline(system_clock::now() + std::chrono::hours(1));
  v1::InferReply reply;
  ASSERT_TRUE(loopback_.inference().Infer(&call, RowsOf({1}), &reply).ok());
  EXPECT_EQ(RowValues(reply, 0)[2], 1.0f);
  EXPECT_EQ(RowValues(loopback_.Infer(RowsOf({1})).reply, 0)[3], 1.0f);  // none: for ever
}

TEST_F(GrpcServiceTest, ACallThatRunsOutOfTimeIsCancelledInTheServer) {
  grpc::ClientContext call;
  call.set_deadline(system_clock::now() + milliseconds(100));
  v1::InferReply reply;
  EXPECT_EQ(loopback_.inference().Infer(&call, RowsOf({1}), &reply).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  // Unless it was too late even for Submit, the server hears of it.
  if (server_.submitted() > 0) server_.AwaitWaiting(0);
}

TEST_F(GrpcServiceTest, CancelReachesTheServer) {
  grpc::ClientContext call;
  v1::InferReply reply;
  std::future<grpc::Status> ended =
      std::async(std::launch::async, [&] { return loopback_.inference().Infer(&call, RowsOf({1}), &reply); });
  server_.AwaitWaiting(1);
  call.TryCancel();
  EXPECT_EQ(ended.get().error_code(), grpc::StatusCode::CANCELLED);
  server_.AwaitWaiting(0);
}

// Answers and cancels that cross: each call ends once, whichever comes first.
TEST_F(GrpcServiceTest, AnswersAndCancelsCross) {
  constexpr int kCalls = 200;
  std::vector<std::unique_ptr<grpc::ClientContext>> calls;
  std::vector<v1::InferReply> replies(kCalls);
  std::atomic<int> ended = 0;
  std::promise<void> all;
  const v1::InferRequest request = RowsOf({1, 2});
  for (int c = 0; c < kCalls; ++c) {
    calls.push_back(std::make_unique<grpc::ClientContext>());
    loopback_.inference().async()->Infer(
        calls.back().get(), &request, &replies[static_cast<size_t>(c)], [&](const grpc::Status& status) {
          EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED)
              << status.error_message();
          if (++ended == kCalls) all.set_value();
        });
    if (c % 16 == 7) server_.AnswerAll(EmbedRows);
    if (c % 3 == 0) calls[static_cast<size_t>(c / 2)]->TryCancel();
  }
  std::future<void> done = all.get_future();
  while (done.wait_for(milliseconds(1)) != std::future_status::ready) server_.AnswerAll(EmbedRows);
}

TEST_F(GrpcServiceTest, DescribeTellsTheLimits) {
  grpc::ClientContext call;
  v1::ModelDescription model;
  ASSERT_TRUE(loopback_.inference().Describe(&call, {}, &model).ok());
  EXPECT_EQ(model.model(), "fake");
  EXPECT_FALSE(model.server_version().empty());
  EXPECT_EQ(model.tasks_size(), 4);
  EXPECT_EQ(model.dimensions(), 8);
  EXPECT_EQ(model.labels(), 3);
  EXPECT_EQ(model.vocab_size(), 250002);
  EXPECT_EQ(model.type_vocab_size(), 2);
  EXPECT_EQ(model.max_row_tokens(), 512);
  EXPECT_EQ(model.max_batch_tokens(), 2048);  // in force, which is the server's word
  EXPECT_EQ(model.max_batch_rows(), 256);
  const MessageLimits limits = LimitsFor(FakeLimits(), {}, 0);
  EXPECT_EQ(model.max_request_bytes(), limits.request_bytes);
  EXPECT_EQ(model.max_reply_bytes(), limits.reply_bytes);
  EXPECT_EQ(model.max_queued_tokens(), 8000);
  EXPECT_EQ(model.max_queued_tokens_bulk(), 7000);
}

TEST(GrpcService, UnavailableUntilThereIsAServer) {
  CountingObserver observer;
  Loopback loopback(LimitsFor(FakeLimits(), {}, 0), &observer);
  EXPECT_EQ(loopback.Infer(RowsOf({1})).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(observer.refused[static_cast<size_t>(Observer::Refusal::kDraining)], 1);
  grpc::ClientContext call;
  v1::ModelDescription model;
  EXPECT_EQ(loopback.inference().Describe(&call, {}, &model).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(GrpcService, MessageLimits) {
  FakeServer server;
  server.AnswerAtOnce(EmbedRows);
  Loopback loopback({.request_bytes = 1000, .reply_bytes = 500});
  loopback.listener().Open(server);
  EXPECT_TRUE(loopback.Infer(RowsOf({400})).status.ok());
  const grpc::Status too_long = loopback.Infer(RowsOf({1000})).status;
  EXPECT_EQ(too_long.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << too_long.error_message();
  EXPECT_EQ(server.submitted(), 1);

  // 20 embeddings of 8 values are 640 bytes: known before anything is computed.
  v1::InferRequest many;
  many.add_cu_seqlens(0);
  many.add_tasks()->set_task(v1::TASK_EMBED);
  for (int row = 0; row < 20; ++row) many.add_input_ids(1), many.add_cu_seqlens(row + 1);
  const grpc::Status before = loopback.Infer(many).status;
  EXPECT_EQ(before.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(before.error_message().find("500 of a reply"), std::string::npos) << before.error_message();
  EXPECT_EQ(server.submitted(), 1);

  // How many weights a sparse row has shows only afterwards.
  server.AnswerAtOnce([](const Request&) {
    Reply reply;
    reply.rows.resize(1);
    reply.rows[0].values.assign(100, 1.0f);
    reply.rows[0].indices.assign(100, 200000);
    return reply;
  });
  const grpc::Status after = loopback.Infer(RowsOf({1}, v1::TASK_SPARSE)).status;
  EXPECT_EQ(after.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << after.error_message();
  EXPECT_EQ(server.submitted(), 2);
}

TEST(GrpcService, AnswersBeyondTheDefaultOfGrpc) {
  engine::EngineLimits limits = FakeLimits();
  limits.dimensions = 4096;
  FakeServer server;
  server.AnswerAtOnce([](const Request& request) {
    Reply reply;
    reply.rows.resize(request.rows.size());
    for (size_t row = 0; row < reply.rows.size(); ++row)
      reply.rows[row].values.assign(8192, static_cast<float>(row));
    return reply;
  });
  Loopback loopback(LimitsFor(limits, {}, 0));
  loopback.listener().Open(server);
  v1::InferRequest many;
  many.add_cu_seqlens(0);
  many.add_tasks()->set_task(v1::TASK_EMBED);
  for (int row = 0; row < 512; ++row) many.add_input_ids(1), many.add_cu_seqlens(row + 1);
  const auto [status, reply] = loopback.Infer(many);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.values().size(), size_t{16} << 20);
  EXPECT_EQ(RowValues(reply, 511).back(), 511.0f);
}

TEST(GrpcListener, APortInUseIsNamed) {
  Loopback first(LimitsFor(FakeLimits(), {}, 0));
  const std::string address = "127.0.0.1:" + std::to_string(first.listener().port());
  const auto second = GrpcListener::Listen(address, LimitsFor(FakeLimits(), {}, 0), nullptr);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(second.status().message()).find(address), std::string::npos) << second.status();
}

// What is being answered is finished; what never is, is cut.
TEST(GrpcListener, StopCutsWhatIsNeverAnswered) {
  FakeServer server;
  Loopback loopback(LimitsFor(FakeLimits(), {}, 0));
  loopback.listener().Open(server);
  std::future<grpc::Status> ended =
      std::async(std::launch::async, [&] { return loopback.Infer(RowsOf({1})).status; });
  server.AwaitWaiting(1);
  loopback.listener().Stop(milliseconds(0));
  EXPECT_FALSE(ended.get().ok());
  server.AwaitWaiting(0);  // through Cancel
}

}  // namespace
}  // namespace trellis::server
