#include "serve/server/metrics_endpoint.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "prometheus/gauge.h"
#include "prometheus/registry.h"
#include "serve/server/metrics_recorder.h"
#include "tests/serve/grpc/metrics_text.h"
#include "tests/serve/grpc/raw_http2.h"

namespace trellis::server {
namespace {

TEST(MetricsEndpoint, ServesWhatIsRecorded) {
  MetricsRecorder metrics({"1.2.3", "synthetic", "m"});
  for (const char* address : {"127.0.0.1:0", "localhost:0"}) {
    auto endpoint = MetricsEndpoint::Listen(address, metrics.registry());
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    if (std::string(address) == "localhost:0" && HttpGet((*endpoint)->port(), "/metrics").empty())
      continue;  // it is ::1 here
    const double before = ScrapeMetrics((*endpoint)->port()).at("trellis_nonfinite_total");
    metrics.RowDone(engine::Task::kEmbed, absl::StatusCode::kDataLoss);
    EXPECT_EQ(ScrapeMetrics((*endpoint)->port()).at("trellis_nonfinite_total"), before + 1);
    EXPECT_TRUE(HttpGet((*endpoint)->port(), "/other").starts_with("HTTP/1.1 404"));
  }
}

TEST(MetricsEndpoint, IdleConnectionsDoNotKeepAScrapeOut) {
  MetricsRecorder metrics({"1.2.3", "synthetic", "m"});
  auto endpoint = MetricsEndpoint::Listen("127.0.0.1:0", metrics.registry());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  std::vector<std::unique_ptr<RawHttp2>> idle;
  for (int i = 0; i < 8; ++i) idle.push_back(std::make_unique<RawHttp2>((*endpoint)->port()));
  ScrapeMetrics((*endpoint)->port());
  // It was not only when they had timed out that there was a turn for it.
  for (const auto& connection : idle) EXPECT_TRUE(connection->IsOpen());
}

TEST(MetricsEndpoint, SeriesThatAreAddedAreServedBesideTheOthers) {
  MetricsRecorder metrics({"1.2.3", "synthetic", "m"});
  auto endpoint = MetricsEndpoint::Listen("127.0.0.1:0", metrics.registry());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  auto more = std::make_shared<prometheus::Registry>();
  prometheus::BuildGauge().Name("one_more").Help("A series.").Register(*more).Add({}).Set(7);
  (*endpoint)->Add(std::move(more));  // and kept, though nobody else does
  const Samples samples = ScrapeMetrics((*endpoint)->port());
  EXPECT_EQ(samples.at("one_more"), 7);
  EXPECT_EQ(samples.at("trellis_inflight_requests"), 0);
}

TEST(MetricsEndpoint, AnAddressOfIpv6WorksOrSaysWhatIsExpected) {
  MetricsRecorder metrics({"1.2.3", "synthetic", "m"});
  auto endpoint = MetricsEndpoint::Listen("[::1]:0", metrics.registry());
  if (endpoint.ok()) return;
  EXPECT_NE(std::string(endpoint.status().message()).find("expected an IPv4 address"), std::string::npos)
      << endpoint.status();
}

TEST(MetricsEndpoint, WhatCannotBeHadIsNamed) {
  MetricsRecorder metrics({"1.2.3", "synthetic", "m"});
  auto first = MetricsEndpoint::Listen("127.0.0.1:0", metrics.registry());
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string taken = "127.0.0.1:" + std::to_string((*first)->port());
  for (const std::string& address : {taken, std::string("no.such.host.invalid:0"), std::string("9100")}) {
    const auto second = MetricsEndpoint::Listen(address, metrics.registry());
    ASSERT_FALSE(second.ok()) << address;
    EXPECT_NE(std::string(second.status().message()).find(address), std::string::npos) << second.status();
  }
}

}  // namespace
}  // namespace trellis::server
