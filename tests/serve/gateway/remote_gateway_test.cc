// A gateway whose rows are computed elsewhere: what the server is told of a request's origin, health checks
// without an answer, and the program with --backend.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <thread>

#include "serve/gateway/grpc_replica.h"
#include "serve/gateway/metrics_remote.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/http_client.h"
#include "tests/serve/gateway/recording_backend.h"
#include "tests/serve/grpc/metrics_text.h"
#include "tests/serve/grpc/running_server.h"

namespace trellis::gateway {
namespace {

constexpr const char* kTraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

engine::EngineLimits Described() {
  engine::EngineLimits limits;
  limits.max_row_tokens = 64;
  limits.max_batch_tokens = 256;
  limits.max_batch_rows = 64;
  limits.vocab_size = 1000;
  limits.dimensions = 4;
  limits.model = "tiny-bert";
  return limits;
}

void WaitUntil(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(holds());
}

std::string Told(const RecordingBackend::Metadata& call, const std::string& name) {
  EXPECT_LE(call.count(name), 1u) << name;
  const auto found = call.find(name);
  return found == call.end() ? "" : found->second;
}

class RemoteGateway : public ::testing::Test {
 protected:
  RemoteGateway() {
    WaitUntil([this] { return gateway_.ready(); });
  }
  ~RemoteGateway() override { EXPECT_TRUE(gateway_.Drain(std::chrono::minutes(1))); }

  HttpResponse Send(HttpRequest request) {
    request.method = "POST";
    request.path = "/embed";
    if (request.body.empty()) request.body = R"({"inputs":"water"})";
    std::promise<HttpResponse> answered;
    gateway_.Serve(std::move(request),
                   [&](HttpResponse response) { answered.set_value(std::move(response)); });
    return answered.get_future().get();
  }
  server::Samples Scrape() { return server::ParseMetrics(MetricsText(registry_)); }

  static GatewayOptions Options() {
    GatewayOptions options;
    options.names = {"tiny-bert"};
    return options;
  }

  model::ModelFolder folder_ = *model::ReadModelFolder(testing::TinyModel("tiny-bert"));
  RecordingBackend backend_{Described()};
  GrpcReplica replica_{backend_.target()};
  prometheus::Registry registry_;
  RemoteMetrics metrics_{registry_};
  WorkerPool pool_{2, folder_.tokenizer, folder_.type_ids};
  Gateway gateway_{folder_, replica_, pool_, {&metrics_}, [] { return std::string(); }, Options()};
};

TEST_F(RemoteGateway, PassesOnWhoseWorkItIs) {
  HttpRequest request;
  request.request_id = "mine-1";
  request.traceparent = kTraceParent;
  request.tracestate = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
  EXPECT_EQ(Send(request).status, 200);
  ASSERT_EQ(backend_.calls().size(), 1u);
  EXPECT_EQ(Told(backend_.calls()[0], "x-request-id"), "mine-1");
  EXPECT_EQ(Told(backend_.calls()[0], "traceparent"), kTraceParent);
  EXPECT_EQ(Told(backend_.calls()[0], "tracestate"), request.tracestate);
}

TEST_F(RemoteGateway, TellsEveryChunk) {
  HttpRequest request;
  request.request_id = "mine-2";
  request.traceparent = kTraceParent;
  request.body = R"({"inputs":["a")";
  for (int i = 0; i < 150; ++i) request.body += ",\"a\"";
  request.body += "]}";
  EXPECT_EQ(Send(request).status, 200);
  const auto calls = backend_.calls();
  EXPECT_GE(calls.size(), 3u) << "151 rows, 64 a chunk";
  for (const auto& call : calls) {
    EXPECT_EQ(Told(call, "x-request-id"), "mine-2");
    EXPECT_EQ(Told(call, "traceparent"), kTraceParent);
  }
}

TEST_F(RemoteGateway, WhatIsNotOfTheStandardsFormIsNotPassedOn) {
  HttpRequest request;
  request.request_id = "no\nheader";
  request.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
  request.tracestate = "a=1";
  const HttpResponse response = Send(request);
  EXPECT_EQ(response.status, 200);
  request.traceparent = kTraceParent;
  request.tracestate = "a=\n";
  EXPECT_EQ(Send(request).status, 200);
  const auto calls = backend_.calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(Told(calls[0], "x-request-id"), Header(response, "x-request-id"));
  EXPECT_EQ(Told(calls[0], "traceparent"), "");
  EXPECT_EQ(Told(calls[0], "tracestate"), "") << "means nothing alone";
  EXPECT_EQ(Told(calls[1], "traceparent"), kTraceParent);
  EXPECT_EQ(Told(calls[1], "tracestate"), "");
}

TEST_F(RemoteGateway, CountsWhatItSends) {
  const server::Samples before = Scrape();
  EXPECT_EQ(before.at("trellis_inputs_total{task=\"embed\"}"), 0);
  EXPECT_EQ(before.at("trellis_rejected_total{reason=\"overloaded\"}"), 0);
  EXPECT_EQ(before.at("trellis_nonfinite_total"), 0);
  HttpRequest request;
  request.body = R"({"inputs":["water","water"]})";
  EXPECT_EQ(Send(request).status, 200);
  request.body = "{";
  EXPECT_EQ(Send(request).status, 400);
  const server::Samples after = Scrape();
  EXPECT_EQ(after.at("trellis_inputs_total{task=\"embed\"}"), 2);
  // <s> water </s>, twice, by the model's tokenizer.json.
  EXPECT_EQ(after.at("trellis_tokens_total{task=\"embed\"}"), 6);
  EXPECT_EQ(after.at("trellis_inflight_requests"), 0);
  EXPECT_EQ(after.at("trellis_cancelled_total"), 0);
  EXPECT_EQ(after.size(), before.size());
}

TEST(GrpcReplicaHealth, OneCheckWithoutAnAnswerIsNoLoss) {
  RecordingBackend backend(Described());
  std::atomic<int> hangs{0};
  GrpcReplica replica(
      backend.target(),
      {.every = std::chrono::milliseconds(10), .limit = std::chrono::milliseconds(500), .patience = 3},
      [&] { ++hangs; });
  WaitUntil([&] { return replica.health() == server::Health::kReady; });
  backend.LeaveChecksUnanswered(1);
  WaitUntil([&] { return backend.unanswered() == 1; });
  const int begun = backend.checks();
  WaitUntil([&] {
    EXPECT_EQ(replica.health(), server::Health::kReady);
    return backend.checks() >= begun + 2 || replica.health() != server::Health::kReady;
  });
  EXPECT_EQ(hangs, 0);
  backend.LeaveChecksUnanswered(1'000'000);
  WaitUntil([&] { return hangs > 0; });
  EXPECT_EQ(replica.health(), server::Health::kDraining);
  EXPECT_GE(backend.unanswered(), 1 + 3);
  const int before = hangs;
  WaitUntil([&] { return hangs > before; });  // again, for what came since
  backend.LeaveChecksUnanswered(0);
  WaitUntil([&] { return replica.health() == server::Health::kReady; });
}

TEST(GatewayProgram, ServesFromAServerElsewhere) {
  RecordingBackend backend(Described());
  server::RunningServer program(
      {"--model", testing::TinyModel("tiny-bert"), "--port", "0", "--backend", backend.target()});
  const int port = program.ReadPort("listening on");
  ASSERT_FALSE(program.ReadUntil("ready on 127.0.0.1:").empty()) << program.said();
  HttpClient client(port);
  const HttpAnswer answer =
      client.Post("/embed", R"({"inputs":"water"})",
                  "Traceparent: " + std::string(kTraceParent) + "\r\nTracestate: a=1\r\nTracestate: b=2\r\n");
  EXPECT_EQ(answer.status, 200);
  ASSERT_EQ(backend.calls().size(), 1u);
  EXPECT_EQ(Told(backend.calls()[0], "traceparent"), kTraceParent);
  EXPECT_EQ(Told(backend.calls()[0], "tracestate"), "a=1,b=2");
  EXPECT_EQ(Told(backend.calls()[0], "x-request-id"), answer.Header("x-request-id"));
  EXPECT_FALSE(program.ReadUntil("trace=4bf92f3577b34da6a3ce929d0e0e4736").empty()) << program.said();
  const server::Samples samples = server::ScrapeMetrics(port);
  EXPECT_EQ(samples.at("trellis_replica_up{replica=\"" + backend.target() + "\"}"), 1);
  EXPECT_EQ(samples.at("trellis_replica_outstanding{replica=\"" + backend.target() + "\"}"), 0);
  EXPECT_EQ(samples.at("trellis_retries_total{reason=\"unavailable\"}"), 0);
  EXPECT_EQ(samples.at("te_request_success{method=\"single\"}"), 1);
  EXPECT_EQ(samples.at("trellis_inputs_total{task=\"embed\"}"), 1);
  size_t build_infos = 0;
  for (const auto& [series, value] : samples) {
    if (!series.starts_with("trellis_build_info{")) continue;
    ++build_infos;
    EXPECT_EQ(value, 1);
    EXPECT_NE(series.find("model=\"tiny-bert\""), std::string::npos) << series;
    EXPECT_NE(series.find("version=\""), std::string::npos) << series;
    EXPECT_NE(series.find("dtype=\"remote\""), std::string::npos) << series;
  }
  EXPECT_EQ(build_infos, 1u);
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

TEST(GatewayProgram, FindsServersByName) {
  RecordingBackend backend(Described());
  const std::string port = backend.target().substr(backend.target().rfind(':'));
  server::RunningServer program({"--model", testing::TinyModel("tiny-bert"), "--port", "0", "--backend",
                                 backend.target() + ",dns:///localhost" + port});
  const int listening = program.ReadPort("listening on");
  ASSERT_FALSE(program.ReadUntil("ready on 127.0.0.1:").empty()) << program.said();
  EXPECT_EQ(HttpClient(listening).Post("/embed", R"({"inputs":"water"})").status, 200);
  // The name has this address and perhaps one of IPv6, where nobody is.
  size_t up = 0;
  for (const auto& [series, value] : server::ScrapeMetrics(listening)) {
    if (series.starts_with("trellis_replica_up{")) up += static_cast<size_t>(value);
  }
  EXPECT_EQ(up, 1u) << "named twice, and there once";
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

TEST(GatewayProgram, BackendsThatCannotBeAreRefused) {
  const auto expect = [](const std::string& backends, const std::string& said) {
    server::RunningServer program({"--model", testing::TinyModel("tiny-bert"), "--backend", backends});
    EXPECT_FALSE(program.ReadUntil(said).empty()) << program.said();
    EXPECT_EQ(program.Wait(), 2);
  };
  expect("127.0.0.1:1,127.0.0.1:1", "an address twice");
  expect("dns:///servers", "--backend: \"dns:///servers\", expected dns:///NAME:PORT");
}

}  // namespace
}  // namespace trellis::gateway
