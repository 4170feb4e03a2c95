#include "serve/server/metrics_endpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "serve/server/metrics_recorder.h"
#include "tests/serve/grpc/metrics_text.h"

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
