// The gateway's own series beside the server's: answers by route and status. Every series is there at 0
// before the first request, and no label value comes from a client. metrics_tei.h has the same under TEI's
// names.
#ifndef TRELLIS_SERVE_GATEWAY_METRICS_REQUESTS_H_
#define TRELLIS_SERVE_GATEWAY_METRICS_REQUESTS_H_

#include <map>
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
  void CountHttp(const RequestRecord& record);

  using ByCode = std::map<int, prometheus::Counter*>;
  std::map<std::string_view, ByCode> requests_;
  std::map<std::string_view, prometheus::Histogram*> durations_;
  prometheus::Counter* truncated_;
};

// As GET /metrics has them.
std::string MetricsText(const prometheus::Collectable& series);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_METRICS_REQUESTS_H_
