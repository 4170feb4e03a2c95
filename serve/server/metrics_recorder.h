// The server's events as Prometheus series. Every series exists, at 0, before the first event; label values
// come from closed sets that are written here; buckets are fixed. The list with its meanings is in
// serve/README.md.
#ifndef TRELLIS_SERVE_SERVER_METRICS_RECORDER_H_
#define TRELLIS_SERVE_SERVER_METRICS_RECORDER_H_

#include <array>
#include <memory>
#include <string>

#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "serve/server/observer.h"

namespace trellis::server {

class MetricsRecorder final : public Observer {
 public:
  // What this process is, for trellis_build_info. `engine` is also the label `backend` of
  // trellis_forward_seconds.
  struct Identity {
    std::string version;
    std::string engine;
    std::string model;
    std::string dtype = {};  // as it was asked for; empty: no such label
  };
  explicit MetricsRecorder(const Identity& identity);

  // What an endpoint serves.
  std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

  void Accepted(size_t rows, size_t tokens) override;
  void Refused(Refusal reason) override;
  void Levels(size_t queued_rows, size_t queued_tokens, size_t in_flight_rows) override;
  void RowDequeued(std::chrono::nanoseconds waited) override;
  void BatchStarted(size_t rows, size_t tokens) override;
  void BatchDone(std::chrono::nanoseconds forward, absl::StatusCode status) override;
  void BatchRetriedByRow(size_t rows) override;
  void RowDone(engine::Task task, absl::StatusCode status) override;
  void RequestDone(absl::StatusCode status, std::chrono::nanoseconds since_accepted) override;
  void Undelivered(size_t requests, size_t bytes) override;
  void ConnectionRefused() override;

 private:
  // The outcomes that the server can give, each with a label; any other code counts as internal.
  enum class Outcome { kOk, kCancelled, kDeadline, kUnavailable, kNonFinite, kTooLong, kInternal };
  static constexpr int kOutcomes = 7;
  using ByOutcome = std::array<prometheus::Counter*, kOutcomes>;

  static Outcome OutcomeOf(absl::StatusCode status);
  ByOutcome CountersByOutcome(const std::string& name, const std::string& help);
  prometheus::Counter& NewCounter(const std::string& name, const std::string& help);
  prometheus::Gauge& NewGauge(const std::string& name, const std::string& help);

  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  std::array<prometheus::Counter*, engine::kTasks> inputs_;
  std::array<prometheus::Counter*, kRefusals> rejected_;
  ByOutcome requests_;
  ByOutcome inputs_by_outcome_;
  ByOutcome batches_;
  prometheus::Counter& tokens_;
  prometheus::Counter& cancelled_;
  prometheus::Counter& non_finite_;
  prometheus::Counter& connections_refused_;
  prometheus::Counter* retries_;
  prometheus::Gauge& queue_depth_;
  prometheus::Gauge& queue_tokens_;
  prometheus::Gauge& in_flight_rows_;
  prometheus::Gauge& in_flight_requests_;
  prometheus::Gauge& undelivered_requests_;
  prometheus::Gauge& undelivered_bytes_;
  prometheus::Histogram* queue_wait_;
  prometheus::Histogram* batch_size_;
  prometheus::Histogram* batch_tokens_;
  prometheus::Histogram* forward_;
  prometheus::Histogram* request_;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_METRICS_RECORDER_H_
