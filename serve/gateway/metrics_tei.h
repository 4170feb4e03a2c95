// Requests under the names that dashboards of text-embeddings-inference know. A request counts once, and as
// either a success or one failure; every series is there at 0 before the first.
#ifndef TRELLIS_SERVE_GATEWAY_METRICS_TEI_H_
#define TRELLIS_SERVE_GATEWAY_METRICS_TEI_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "serve/gateway/request_record.h"
#include "serve/server/observer.h"

namespace trellis::gateway {

class TeiMetrics final : public RequestObserver {
 public:
  // Adds its series to `registry`.
  explicit TeiMetrics(prometheus::Registry& registry);

  void RequestDone(const RequestRecord& record) override;

 private:
  struct ByMethod {  // label method: single or batch
    prometheus::Counter *single, *batch;
    prometheus::Counter& operator()(const RequestRecord& record) const {
      return record.inputs > 1 ? *batch : *single;
    }
  };
  // Of a request, or of each of its inputs, which TEI times one by one: here they have their request's times.
  struct Durations {
    prometheus::Histogram *total, *tokenization, *queue, *inference;
    void Observe(const RequestRecord& record, size_t times) const;
  };
  struct Inputs {  // te_embed_* and te_predict_*
    prometheus::Counter *count, *success;
    Durations durations;
  };
  static ByMethod NewByMethod(prometheus::Registry& registry, const std::string& name,
                              const std::string& help);
  static Durations NewDurations(prometheus::Registry& registry, const std::string& prefix,
                                const std::string& of);
  static Inputs NewInputs(prometheus::Registry& registry, const std::string& prefix);
  void ObserveLengths(const RequestRecord& record);

  ByMethod count_, success_;
  std::map<std::string_view, prometheus::Counter*> failures_;
  Durations request_;
  Inputs embed_, predict_;
  prometheus::Histogram* lengths_;
};

// The batching server's own: its queue and its batches. Hands every event on to `next`.
class TeiBatchMetrics final : public server::Observer {
 public:
  // Both outlive this.
  TeiBatchMetrics(prometheus::Registry& registry, server::Observer& next);

  void Accepted(size_t rows, size_t tokens) override { next_.Accepted(rows, tokens); }
  void Refused(Refusal reason) override { next_.Refused(reason); }
  void Levels(size_t queued_rows, size_t queued_tokens, size_t in_flight_rows) override;
  void RowDequeued(std::chrono::nanoseconds waited) override { next_.RowDequeued(waited); }
  void BatchStarted(size_t rows, size_t tokens) override;
  void BatchDone(std::chrono::nanoseconds forward, absl::StatusCode status) override {
    next_.BatchDone(forward, status);
  }
  void BatchRetriedByRow(size_t rows) override { next_.BatchRetriedByRow(rows); }
  void RowDone(engine::Task task, absl::StatusCode status) override { next_.RowDone(task, status); }
  void RequestDone(absl::StatusCode status, std::chrono::nanoseconds since_accepted) override {
    next_.RequestDone(status, since_accepted);
  }
  void Undelivered(size_t requests, size_t bytes) override { next_.Undelivered(requests, bytes); }
  void ConnectionRefused() override { next_.ConnectionRefused(); }

 private:
  server::Observer& next_;
  prometheus::Gauge& queue_size_;
  prometheus::Histogram *batch_size_, *batch_tokens_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_METRICS_TEI_H_
