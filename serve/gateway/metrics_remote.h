// What a gateway knows of the work that servers elsewhere do for it, under the names that a server in this
// process would have given it (serve/server/metrics_recorder.h). Queues and batches are the servers' own.
#ifndef TRELLIS_SERVE_GATEWAY_METRICS_REMOTE_H_
#define TRELLIS_SERVE_GATEWAY_METRICS_REMOTE_H_

#include <array>

#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"
#include "serve/gateway/request_record.h"

namespace trellis::gateway {

class RemoteMetrics final : public RequestObserver {
 public:
  // Adds its series to `registry`.
  explicit RemoteMetrics(prometheus::Registry& registry);

  void RequestAdmitted() override { in_flight_.Increment(); }
  void RequestDone(const RequestRecord& record) override;

 private:
  std::array<prometheus::Counter*, engine::kTasks> inputs_, tokens_;
  prometheus::Counter &cancelled_, &non_finite_;
  prometheus::Counter *overloaded_, *unavailable_, *deadline_;  // of trellis_rejected_total
  prometheus::Gauge& in_flight_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_METRICS_REMOTE_H_
