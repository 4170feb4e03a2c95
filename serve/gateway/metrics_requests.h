// The gateway's own series beside the server's: by route and status, and under the names that
// text-embeddings-inference's dashboards know. Every series is there at 0 before the first request, and no
// label value comes from a client.
#ifndef TRELLIS_SERVE_GATEWAY_METRICS_REQUESTS_H_
#define TRELLIS_SERVE_GATEWAY_METRICS_REQUESTS_H_

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "prometheus/collectable.h"
#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "serve/gateway/request_record.h"

namespace trellis::gateway {

class RequestMetrics final : public RequestObserver {
 public:
  // Adds its series to `registry`.
  explicit RequestMetrics(prometheus::Registry& registry);

  void RequestDone(const RequestRecord& record) override;

 private:
  // Of one kind of task: te_embed_* and te_predict_*.
  struct Inputs {
    prometheus::Counter* count;
    prometheus::Counter* success;
    prometheus::Histogram* duration;
  };
  struct ByMethod {  // label method: single or batch
    prometheus::Counter* single;
    prometheus::Counter* batch;
  };
  static Inputs NewInputs(prometheus::Registry& registry, const std::string& name);
  static ByMethod NewByMethod(prometheus::Registry& registry, const std::string& name,
                              const std::string& help);

  using ByCode = std::map<int, prometheus::Counter*>;
  std::map<std::string_view, ByCode> requests_;
  std::map<std::string_view, prometheus::Histogram*> durations_;
  std::map<std::string_view, prometheus::Counter*> failures_;
  ByMethod count_, success_;
  Inputs embed_, predict_;
  prometheus::Histogram *duration_, *tokenization_, *queue_, *inference_, *input_length_;
  prometheus::Counter* truncated_;
};

// As GET /metrics has them.
std::string MetricsText(const prometheus::Collectable& series);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_METRICS_REQUESTS_H_
