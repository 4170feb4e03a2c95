// The servers behind --backend, each by its address: read from the balancer whenever somebody asks, so that
// there is nothing to keep up to date, and the series of a server go with it.
#ifndef TRELLIS_SERVE_GATEWAY_METRICS_REPLICAS_H_
#define TRELLIS_SERVE_GATEWAY_METRICS_REPLICAS_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "serve/gateway/balancer.h"

namespace trellis::gateway {

class ReplicaMetrics final : public prometheus::Collectable {
 public:
  // The balancer outlives this.
  explicit ReplicaMetrics(const Balancer& balancer) : balancer_(balancer) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Balancer& balancer_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_METRICS_REPLICAS_H_
