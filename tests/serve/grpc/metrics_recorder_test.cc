#include "serve/server/metrics_recorder.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "prometheus/text_serializer.h"
#include "tests/serve/grpc/metrics_text.h"

namespace trellis::server {
namespace {

using std::chrono::milliseconds;

class MetricsRecorderTest : public testing::Test {
 protected:
  MetricsRecorder metrics_{{"1.2.3", "synthetic", "some/model"}};

  Samples Read() {
    return ParseMetrics(prometheus::TextSerializer().Serialize(metrics_.registry()->Collect()));
  }

  // What `event` adds to each sample that it changes.
  Samples Added(const std::function<void()>& event) {
    const Samples before = Read();
    event();
    Samples added;
    for (const auto& [name, value] : Read()) {
      if (value != before.at(name)) added[name] = value - before.at(name);
    }
    return added;
  }
};

TEST_F(MetricsRecorderTest, EverySeriesIsThereAtZeroBeforeTraffic) {
  const Samples samples = Read();
  for (const auto& [name, value] : samples) {
    if (name.starts_with("trellis_build_info")) continue;
    EXPECT_EQ(value, 0) << name;
  }
  EXPECT_EQ(samples.at(R"(trellis_build_info{engine="synthetic",model="some/model",version="1.2.3"})"), 1);
  for (const char* task : {"embed", "embed_all", "sparse", "classify"}) {
    EXPECT_TRUE(samples.contains(std::string(R"(trellis_inputs_total{task=")") + task + "\"}")) << task;
  }
  for (const char* reason : {"queue_full", "invalid", "unsupported_task", "deadline", "not_ready", "dead",
                             "too_many_requests", "undelivered", "cancelled"}) {
    EXPECT_TRUE(samples.contains(std::string(R"(trellis_rejected_total{reason=")") + reason + "\"}"))
        << reason;
  }
  for (const char* family :
       {"trellis_requests_total", "trellis_input_outcomes_total", "trellis_batches_total"}) {
    for (const char* outcome :
         {"ok", "cancelled", "deadline", "unavailable", "non_finite", "too_long", "internal"}) {
      EXPECT_TRUE(samples.contains(std::string(family) + R"({outcome=")" + outcome + "\"}"))
          << family << outcome;
    }
  }
  for (const char* name :
       {"trellis_queue_wait_seconds_count", "trellis_batch_size_count", "trellis_batch_tokens_count",
        R"(trellis_forward_seconds_count{backend="synthetic"})", "trellis_request_seconds_count",
        "trellis_queue_depth", "trellis_queue_tokens", "trellis_inflight_rows", "trellis_inflight_requests",
        "trellis_cancelled_total", "trellis_nonfinite_total", "trellis_tokens_total",
        "trellis_undelivered_requests", "trellis_undelivered_bytes", "trellis_connections_refused_total",
        R"(trellis_retries_total{reason="batch_failed"})"}) {
    EXPECT_TRUE(samples.contains(name)) << name;
  }
}

// One event, one count; and nothing else moves.
TEST_F(MetricsRecorderTest, EachEventCountsOnce) {
  EXPECT_EQ(Added([&] { metrics_.Accepted(3, 40); }),
            (Samples{{"trellis_tokens_total", 40}, {"trellis_inflight_requests", 1}}));
  EXPECT_EQ(Added([&] { metrics_.Refused(Observer::Refusal::kQueueFull); }),
            (Samples{{R"(trellis_rejected_total{reason="queue_full"})", 1}}));
  EXPECT_EQ(Added([&] { metrics_.Refused(Observer::Refusal::kDead); }),
            (Samples{{R"(trellis_rejected_total{reason="dead"})", 1}}));
  EXPECT_EQ(Added([&] { metrics_.Refused(Observer::Refusal::kCancelled); }),
            (Samples{{R"(trellis_rejected_total{reason="cancelled"})", 1}}));
  EXPECT_EQ(Added([&] { metrics_.Undelivered(2, 4096); }),
            (Samples{{"trellis_undelivered_requests", 2}, {"trellis_undelivered_bytes", 4096}}));
  EXPECT_EQ(Added([&] { metrics_.ConnectionRefused(); }),
            (Samples{{"trellis_connections_refused_total", 1}}));
  EXPECT_EQ(
      Added([&] { metrics_.Levels(3, 40, 2); }),
      (Samples{{"trellis_queue_depth", 3}, {"trellis_queue_tokens", 40}, {"trellis_inflight_rows", 2}}));
  EXPECT_EQ(
      Added([&] { metrics_.Levels(0, 0, 0); }),
      (Samples{{"trellis_queue_depth", -3}, {"trellis_queue_tokens", -40}, {"trellis_inflight_rows", -2}}));
  EXPECT_EQ(Added([&] { metrics_.BatchRetriedByRow(17); }),
            (Samples{{R"(trellis_retries_total{reason="batch_failed"})", 1}}));
  EXPECT_EQ(Added([&] { metrics_.RowDone(engine::Task::kSparse, absl::StatusCode::kOk); }),
            (Samples{{R"(trellis_inputs_total{task="sparse"})", 1},
                     {R"(trellis_input_outcomes_total{outcome="ok"})", 1}}));
  EXPECT_EQ(Added([&] { metrics_.RowDone(engine::Task::kEmbed, absl::StatusCode::kDataLoss); }),
            (Samples{{R"(trellis_inputs_total{task="embed"})", 1},
                     {R"(trellis_input_outcomes_total{outcome="non_finite"})", 1},
                     {"trellis_nonfinite_total", 1}}));
}

TEST_F(MetricsRecorderTest, ARequestsEnd) {
  metrics_.Accepted(1, 1);
  Samples added = Added([&] { metrics_.RequestDone(absl::StatusCode::kCancelled, milliseconds(30)); });
  EXPECT_EQ(added[R"(trellis_requests_total{outcome="cancelled"})"], 1);
  EXPECT_EQ(added["trellis_cancelled_total"], 1);
  EXPECT_EQ(added["trellis_inflight_requests"], -1);
  EXPECT_EQ(added["trellis_request_seconds_count"], 1);
  EXPECT_NEAR(added["trellis_request_seconds_sum"], 0.030, 1e-9);
  added = Added([&] { metrics_.RequestDone(absl::StatusCode::kResourceExhausted, milliseconds(1)); });
  EXPECT_EQ(added[R"(trellis_requests_total{outcome="too_long"})"], 1);
  added = Added([&] { metrics_.RowDone(engine::Task::kEmbed, absl::StatusCode::kResourceExhausted); });
  EXPECT_EQ(added[R"(trellis_input_outcomes_total{outcome="internal"})"], 1) << "the engine's own";
  // Whatever the code, there is a series for it.
  for (int code = 0; code <= 16; ++code) {
    double answered = 0;
    for (const auto& [name, value] :
         Added([&] { metrics_.RequestDone(static_cast<absl::StatusCode>(code), milliseconds(1)); })) {
      if (name.starts_with("trellis_requests_total")) answered += value;
    }
    EXPECT_EQ(answered, 1) << code;
  }
}

TEST_F(MetricsRecorderTest, HistogramsPutAValueIntoItsBucketAndAllAbove) {
  Samples added = Added([&] { metrics_.BatchStarted(5, 600); });
  EXPECT_FALSE(added.contains(R"(trellis_batch_size_bucket{le="4"})"));
  EXPECT_EQ(added[R"(trellis_batch_size_bucket{le="8"})"], 1);
  EXPECT_EQ(added[R"(trellis_batch_size_bucket{le="+Inf"})"], 1);
  EXPECT_FALSE(added.contains(R"(trellis_batch_tokens_bucket{le="512"})"));
  EXPECT_EQ(added[R"(trellis_batch_tokens_bucket{le="1024"})"], 1);
  added = Added([&] { metrics_.BatchDone(milliseconds(20), absl::StatusCode::kInternal); });
  EXPECT_EQ(added[R"(trellis_batches_total{outcome="internal"})"], 1);
  EXPECT_FALSE(added.contains(R"(trellis_forward_seconds_bucket{backend="synthetic",le="0.01"})"));
  EXPECT_EQ(added[R"(trellis_forward_seconds_bucket{backend="synthetic",le="0.025"})"], 1);
  added = Added([&] { metrics_.RowDequeued(milliseconds(20)); });
  EXPECT_EQ(added["trellis_queue_wait_seconds_count"], 1);
  EXPECT_EQ(added[R"(trellis_queue_wait_seconds_bucket{le="0.025"})"], 1);
}

}  // namespace
}  // namespace trellis::server
