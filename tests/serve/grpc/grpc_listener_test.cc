// The port's end, with clients that do not help it along.
#include "serve/server/grpc_listener.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/generic/generic_stub.h"
#include "tests/serve/grpc/fake_server.h"
#include "tests/serve/grpc/loopback.h"
#include "tests/serve/grpc/raw_http2.h"

namespace trellis::server {
namespace {

using std::chrono::milliseconds;

class CountingObserver : public Observer {
 public:
  void Refused(Refusal reason) override { ++refused[static_cast<size_t>(reason)]; }
  void Await(Refusal reason, int count) {
    while (refused[static_cast<size_t>(reason)] < count) std::this_thread::sleep_for(milliseconds(1));
  }
  std::atomic<int> refused[kRefusals] = {};
};

class GrpcListenerTest : public testing::Test {
 protected:
  FakeServer server_;
  CountingObserver observer_;
  Loopback loopback_{LimitsFor(FakeLimits(), {}, 0), &observer_};

  void SetUp() override { loopback_.listener().Open(server_); }
  int port() { return loopback_.listener().port(); }
};

// Each of them would keep a server that waits for its peers for the whole hour.
TEST_F(GrpcListenerTest, IdlePeersDoNotHoldTheEnd) {
  RawHttp2 bare(port()), preface(port()), headers(port());
  preface.Preface(65535);
  ASSERT_TRUE(preface.ReadsSomething());
  headers.Preface(65535);
  headers.Headers(1);
  ASSERT_TRUE(headers.ReadsSomething());
  grpc::ClientContext watch;
  grpc::health::v1::HealthCheckRequest unknown;
  unknown.set_service("none of ours");
  auto stream = loopback_.health().Watch(&watch, unknown);
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(stream->Read(&response));
  grpc::GenericStub stub(ChannelTo(port()));
  struct Reflection : grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
    void OnDone(const grpc::Status&) override { done.set_value(); }
    std::promise<void> done;
  } reflection;
  grpc::ClientContext context;
  stub.PrepareBidiStreamingCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                {}, &reflection);
  reflection.StartCall();

  EXPECT_EQ(loopback_.listener().Stop(std::chrono::hours(1)), 0u);
  reflection.done.get_future().get();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  bare.ReadToEnd();
}

// Callers that have cancelled nothing are never told that they have.
TEST_F(GrpcListenerTest, CallsDuringTheEndAreUnavailable) {
  server_.RefuseWith(absl::UnavailableError("the server is shutting down"));
  std::atomic<int> calls = 0;
  std::atomic<bool> stopped = false;
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      const auto stub = v1::Inference::NewStub(ChannelTo(port()));
      const v1::InferRequest request = RowsOf({1});
      do {
        grpc::ClientContext call;
        v1::InferReply reply;
        const grpc::Status status = stub->Infer(&call, request, &reply);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
        ++calls;
      } while (!stopped);
    });
  }
  while (calls < 100) std::this_thread::sleep_for(milliseconds(1));
  loopback_.listener().Stop(milliseconds(100));
  stopped = true;
  for (std::thread& caller : callers) caller.join();
}

TEST_F(GrpcListenerTest, AnswersThatAreNotTakenAreHeldAndCounted) {
  RawHttp2 client(port());
  client.Preface(0);
  client.Headers(1);
  client.Message(1, RowsOf({1}).SerializeAsString());
  server_.AwaitWaiting(1);
  std::weak_ptr<int> held, other_held;
  const auto answer = [](std::weak_ptr<int>& watched) {
    return [&watched](const Request& request) {
      auto hold = std::make_shared<int>();
      watched = hold;
      Reply reply = EmbedRows(request);
      reply.hold = std::move(hold);
      return reply;
    };
  };
  server_.AnswerAll(answer(held));
  // Nothing shows that the answer would not have been delivered by now; that a later one was is the best
  // there is.
  std::future<grpc::Status> other =
      std::async(std::launch::async, [&] { return loopback_.Infer(RowsOf({1})).status; });
  server_.AwaitWaiting(1);
  server_.AnswerAll(answer(other_held));
  EXPECT_TRUE(other.get().ok());
  while (!other_held.expired()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_FALSE(held.expired());
  EXPECT_EQ(loopback_.listener().Stop(milliseconds(0)), 1u);
  EXPECT_TRUE(held.expired());
}

TEST_F(GrpcListenerTest, AnAnswersHoldEndsWithItsConnection) {
  auto hold = std::make_shared<int>();
  const std::weak_ptr<int> held = hold;
  server_.AnswerAtOnce([&](const Request& request) {
    Reply reply = EmbedRows(request);
    reply.hold = std::move(hold);
    return reply;
  });
  RawHttp2 client(port());
  client.Preface(0);
  client.Headers(1);
  client.Message(1, RowsOf({1}).SerializeAsString());
  while (server_.submitted() < 1) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_FALSE(held.expired());
  client.Close();
  while (!held.expired()) std::this_thread::sleep_for(milliseconds(1));
}

TEST_F(GrpcListenerTest, ADeliveredAnswerIsNotHeld) {
  auto hold = std::make_shared<int>();
  const std::weak_ptr<int> held = hold;
  server_.AnswerAtOnce([&](const Request& request) {
    Reply reply = EmbedRows(request);
    reply.hold = std::move(hold);
    return reply;
  });
  EXPECT_TRUE(loopback_.Infer(RowsOf({1})).status.ok());
  while (!held.expired()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(loopback_.listener().Stop(std::chrono::hours(1)), 0u);
}

TEST_F(GrpcListenerTest, ACallThatIsGivenUpBeforeItsMessageIsNotInvalid) {
  {
    RawHttp2 client(port());
    client.Preface(65535);
    client.Headers(1);
    ASSERT_TRUE(client.ReadsSomething());
  }
  observer_.Await(Observer::Refusal::kCancelled, 1);
  EXPECT_EQ(observer_.refused[static_cast<size_t>(Observer::Refusal::kInvalid)], 0);
  EXPECT_EQ(server_.submitted(), 0);
}

TEST_F(GrpcListenerTest, CompressedRequestsAreRefusedUnread) {
  server_.AnswerAtOnce(EmbedRows);
  const auto infer = [&](grpc_compression_algorithm algorithm) {
    grpc::ClientContext call;
    call.set_compression_algorithm(algorithm);
    v1::InferReply reply;
    return loopback_.inference().Infer(&call, RowsOf({400}), &reply);
  };
  EXPECT_TRUE(infer(GRPC_COMPRESS_NONE).ok());
  EXPECT_EQ(infer(GRPC_COMPRESS_GZIP).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(infer(GRPC_COMPRESS_DEFLATE).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(server_.submitted(), 1);
}

}  // namespace
}  // namespace trellis::server
