// The servers behind --backend, each by its address as it was configured: read from the balancer whenever
// somebody asks, so that there is nothing to keep up to date.
#ifndef TRELLIS_SERVE_GATEWAY_METRICS_REPLICAS_H_
#define TRELLIS_SERVE_GATEWAY_METRICS_REPLICAS_H_

#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "serve/gateway/balancer.h"

namespace trellis::gateway {

class ReplicaMetrics final : public prometheus::Collectable {
 public:
  // `names`: one a replica, in the balancer's order. The balancer outlives this.
  ReplicaMetrics(const Balancer& balancer, std::vector<std::string> names);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Balancer& balancer_;
  const std::vector<std::string> names_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_METRICS_REPLICAS_H_
