// grpc.health.v1 as a client sees it, through every state of the server; and reflection.
#include "serve/server/grpc_health.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "tests/serve/grpc/fake_server.h"
#include "tests/serve/grpc/loopback.h"
#include "tests/serve/grpc/reflection.h"

namespace trellis::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthCheckRequest Of(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

class GrpcHealthTest : public testing::Test {
 protected:
  FakeServer server_;
  Loopback loopback_{LimitsFor(FakeLimits(), {}, 0)};

  HealthCheckResponse::ServingStatus Check(const std::string& service = "") {
    grpc::ClientContext call;
    HealthCheckResponse response;
    const grpc::Status status = loopback_.health().Check(&call, Of(service), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }
};

TEST_F(GrpcHealthTest, ServingOnlyWhileReady) {
  EXPECT_EQ(Check(), HealthCheckResponse::NOT_SERVING);  // starting: there is no server yet
  server_.SetHealth(Health::kStarting);
  loopback_.listener().Open(server_);
  EXPECT_EQ(Check(), HealthCheckResponse::NOT_SERVING);
  server_.SetHealth(Health::kReady);
  EXPECT_EQ(Check(), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("trellis.v1.Inference"), HealthCheckResponse::SERVING);
  server_.SetHealth(Health::kDead);
  EXPECT_EQ(Check(), HealthCheckResponse::NOT_SERVING);
  server_.SetHealth(Health::kReady);
  loopback_.listener().AnnounceEnd();
  EXPECT_EQ(Check(), HealthCheckResponse::NOT_SERVING);  // though the server is still ready
  EXPECT_EQ(Check("trellis.v1.Inference"), HealthCheckResponse::NOT_SERVING);
}

TEST_F(GrpcHealthTest, AnUnknownServiceIsNotFound) {
  grpc::ClientContext call;
  HealthCheckResponse response;
  EXPECT_EQ(loopback_.health().Check(&call, Of("other"), &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcHealthTest, AWatcherHearsEachChangeOnce) {
  loopback_.listener().Open(server_);
  grpc::ClientContext call;
  auto stream = loopback_.health().Watch(&call, Of("trellis.v1.Inference"));
  HealthCheckResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  loopback_.listener().RefreshHealth();  // nothing new, nothing said
  server_.SetHealth(Health::kDead);
  loopback_.listener().RefreshHealth();
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  server_.SetHealth(Health::kReady);
  loopback_.listener().RefreshHealth();
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  loopback_.listener().Stop(
      std::chrono::seconds(30));  // does not wait for it: a Watch lasts as long as its client
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcHealthTest, WatchingAnUnknownServiceStaysOpen) {
  grpc::ClientContext call;
  auto stream = loopback_.health().Watch(&call, Of("other"));
  HealthCheckResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  call.TryCancel();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(GrpcHealthTest, ManyWatchersComeAndGo) {
  loopback_.listener().Open(server_);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<grpc::ClientContext>> calls;
    std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> streams;
    HealthCheckResponse response;
    for (int w = 0; w < 8; ++w) {
      calls.push_back(std::make_unique<grpc::ClientContext>());
      streams.push_back(loopback_.health().Watch(calls.back().get(), Of("")));
      ASSERT_TRUE(streams.back()->Read(&response));
    }
    for (size_t w = 0; w < calls.size(); w += 2) calls[w]->TryCancel();
    server_.SetHealth(round % 2 == 0 ? Health::kDead : Health::kReady);
    loopback_.listener().RefreshHealth();
    for (size_t w = 1; w < calls.size(); w += 2) {
      ASSERT_TRUE(streams[w]->Read(&response));
      EXPECT_EQ(response.status(),
                round % 2 == 0 ? HealthCheckResponse::NOT_SERVING : HealthCheckResponse::SERVING);
      calls[w]->TryCancel();
    }
    for (auto& stream : streams) EXPECT_FALSE(stream->Finish().ok());
  }
}

TEST_F(GrpcHealthTest, ReflectionListsAndDescribesTheServices) {
  const int port = loopback_.listener().port();
  const std::string services = Reflect(port, 7, "*");
  EXPECT_NE(services.find("trellis.v1.Inference"), std::string::npos);
  EXPECT_NE(services.find("grpc.health.v1.Health"), std::string::npos);
  EXPECT_NE(Reflect(port, 4, "trellis.v1.Inference").find("cu_seqlens"),
            std::string::npos);  // the file of that symbol
  EXPECT_NE(Reflect(port, 4, "grpc.health.v1.Health").find("HealthCheckRequest"), std::string::npos);
}

}  // namespace
}  // namespace trellis::server
