#include "serve/server/metrics_recorder.h"

namespace trellis::server {
namespace {

using prometheus::Histogram;

constexpr const char* kTaskLabels[engine::kTasks] = {"embed", "embed_all", "sparse", "classify"};
// What a gateway calls starting and draining alike. In the order of Observer::Refusal.
constexpr const char* kRefusalLabels[Observer::kRefusals] = {
    "queue_full", "invalid",           "unsupported_task", "deadline", "not_ready",
    "dead",       "too_many_requests", "undelivered",      "cancelled"};
// In the order of MetricsRecorder::Outcome.
constexpr const char* kOutcomeLabels[] = {"ok",         "cancelled", "deadline", "unavailable",
                                          "non_finite", "too_long",  "internal"};

// A factor of two to two and a half each; the widest range is that of a queue.
const Histogram::BucketBoundaries kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                              0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
const Histogram::BucketBoundaries kRows = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
const Histogram::BucketBoundaries kTokens = {16,   64,   256,   512,   1024,  2048,
                                             4096, 8192, 16384, 32768, 65536, 131072};

double Seconds(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

Histogram& NewHistogram(prometheus::Registry& registry, const std::string& name, const std::string& help,
                        const Histogram::BucketBoundaries& buckets, const prometheus::Labels& labels = {}) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, buckets);
}

}  // namespace

prometheus::Counter& MetricsRecorder::NewCounter(const std::string& name, const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry_).Add({});
}

prometheus::Gauge& MetricsRecorder::NewGauge(const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(*registry_).Add({});
}

MetricsRecorder::ByOutcome MetricsRecorder::CountersByOutcome(const std::string& name,
                                                              const std::string& help) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(*registry_);
  ByOutcome counters;
  for (int o = 0; o < kOutcomes; ++o) counters[o] = &family.Add({{"outcome", kOutcomeLabels[o]}});
  return counters;
}

MetricsRecorder::MetricsRecorder(const Identity& identity)
    : requests_(CountersByOutcome("trellis_requests_total", "Accepted requests that were answered.")),
      inputs_by_outcome_(
          CountersByOutcome("trellis_input_outcomes_total", "The same inputs, by how they ended.")),
      batches_(CountersByOutcome("trellis_batches_total", "Batches that the engine was done with.")),
      tokens_(NewCounter("trellis_tokens_total", "Tokens accepted.")),
      cancelled_(NewCounter("trellis_cancelled_total", "Accepted requests that their caller gave up.")),
      non_finite_(NewCounter("trellis_nonfinite_total", "Rows whose values were not finite.")),
      connections_refused_(NewCounter("trellis_connections_refused_total",
                                      "Connections closed as they came, there being too many.")),
      queue_depth_(NewGauge("trellis_queue_depth", "Rows in the queue.")),
      queue_tokens_(NewGauge("trellis_queue_tokens", "Tokens in the queue.")),
      in_flight_rows_(NewGauge("trellis_inflight_rows", "Rows given to the engine and not yet answered.")),
      in_flight_requests_(NewGauge("trellis_inflight_requests", "Requests accepted and not yet answered.")),
      undelivered_requests_(NewGauge("trellis_undelivered_requests",
                                     "Requests answered whose answers their clients have not yet taken.")),
      undelivered_bytes_(NewGauge("trellis_undelivered_bytes", "Bytes of those answers, at most.")) {
  auto& inputs = prometheus::BuildCounter()
                     .Name("trellis_inputs_total")
                     .Help("Rows that were answered, by task.")
                     .Register(*registry_);
  for (int t = 0; t < engine::kTasks; ++t) inputs_[t] = &inputs.Add({{"task", kTaskLabels[t]}});
  auto& rejected = prometheus::BuildCounter()
                       .Name("trellis_rejected_total")
                       .Help("Requests refused before they were accepted.")
                       .Register(*registry_);
  for (int r = 0; r < kRefusals; ++r) rejected_[r] = &rejected.Add({{"reason", kRefusalLabels[r]}});
  retries_ = &prometheus::BuildCounter()
                  .Name("trellis_retries_total")
                  .Help("Batches run again row by row.")
                  .Register(*registry_)
                  .Add({{"reason", "batch_failed"}});
  queue_wait_ =
      &NewHistogram(*registry_, "trellis_queue_wait_seconds", "A row's time in the queue.", kSeconds);
  batch_size_ = &NewHistogram(*registry_, "trellis_batch_size", "Rows in a batch.", kRows);
  batch_tokens_ = &NewHistogram(*registry_, "trellis_batch_tokens", "Tokens in a batch.", kTokens);
  forward_ = &NewHistogram(*registry_, "trellis_forward_seconds", "A batch's time in the engine.", kSeconds,
                           {{"backend", identity.engine}});
  request_ = &NewHistogram(*registry_, "trellis_request_seconds", "From acceptance to answer.", kSeconds);
  prometheus::Labels build = {
      {"version", identity.version}, {"engine", identity.engine}, {"model", identity.model}};
  if (!identity.dtype.empty()) build["dtype"] = identity.dtype;
  prometheus::BuildGauge()
      .Name("trellis_build_info")
      .Help("Always 1; its labels say what runs.")
      .Register(*registry_)
      .Add(build)
      .Set(1);
}

MetricsRecorder::Outcome MetricsRecorder::OutcomeOf(absl::StatusCode status) {
  switch (status) {
    case absl::StatusCode::kOk:
      return Outcome::kOk;
    case absl::StatusCode::kCancelled:
      return Outcome::kCancelled;
    case absl::StatusCode::kDeadlineExceeded:
      return Outcome::kDeadline;
    case absl::StatusCode::kUnavailable:
      return Outcome::kUnavailable;
    case absl::StatusCode::kDataLoss:
      return Outcome::kNonFinite;
    default:
      return Outcome::kInternal;
  }
}

void MetricsRecorder::Accepted(size_t, size_t tokens) {
  tokens_.Increment(static_cast<double>(tokens));
  in_flight_requests_.Increment();
}

void MetricsRecorder::Refused(Refusal reason) { rejected_[static_cast<size_t>(reason)]->Increment(); }

void MetricsRecorder::Levels(size_t queued_rows, size_t queued_tokens, size_t in_flight_rows) {
  queue_depth_.Set(static_cast<double>(queued_rows));
  queue_tokens_.Set(static_cast<double>(queued_tokens));
  in_flight_rows_.Set(static_cast<double>(in_flight_rows));
}

void MetricsRecorder::RowDequeued(std::chrono::nanoseconds waited) { queue_wait_->Observe(Seconds(waited)); }

void MetricsRecorder::BatchStarted(size_t rows, size_t tokens) {
  batch_size_->Observe(static_cast<double>(rows));
  batch_tokens_->Observe(static_cast<double>(tokens));
}

void MetricsRecorder::BatchDone(std::chrono::nanoseconds forward, absl::StatusCode status) {
  forward_->Observe(Seconds(forward));
  batches_[static_cast<size_t>(OutcomeOf(status))]->Increment();
}

void MetricsRecorder::BatchRetriedByRow(size_t) { retries_->Increment(); }

void MetricsRecorder::RowDone(engine::Task task, absl::StatusCode status) {
  inputs_[static_cast<size_t>(task)]->Increment();
  inputs_by_outcome_[static_cast<size_t>(OutcomeOf(status))]->Increment();
  if (status == absl::StatusCode::kDataLoss) non_finite_.Increment();
}

void MetricsRecorder::RequestDone(absl::StatusCode status, std::chrono::nanoseconds since_accepted) {
  // As a row's or a batch's code it is the engine's; as a request's it is the answer's length.
  const bool too_long = status == absl::StatusCode::kResourceExhausted;
  requests_[static_cast<size_t>(too_long ? Outcome::kTooLong : OutcomeOf(status))]->Increment();
  if (status == absl::StatusCode::kCancelled) cancelled_.Increment();
  request_->Observe(Seconds(since_accepted));
  in_flight_requests_.Decrement();
}

void MetricsRecorder::Undelivered(size_t requests, size_t bytes) {
  undelivered_requests_.Set(static_cast<double>(requests));
  undelivered_bytes_.Set(static_cast<double>(bytes));
}

void MetricsRecorder::ConnectionRefused() { connections_refused_.Increment(); }

}  // namespace trellis::server
