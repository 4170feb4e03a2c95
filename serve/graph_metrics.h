// How batches reached the GPU, as Prometheus series beside the server's own: read whenever somebody asks. The
// list with its meanings is in serve/README.md.
#ifndef TRELLIS_SERVE_GRAPH_METRICS_H_
#define TRELLIS_SERVE_GRAPH_METRICS_H_

#include <memory>
#include <utility>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "serve/engine/cuda/graph_counters.h"

namespace trellis::program {

class GraphMetrics final : public prometheus::Collectable {
 public:
  explicit GraphMetrics(std::shared_ptr<const engine::cuda::GraphStatistics> graphs)
      : graphs_(std::move(graphs)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::shared_ptr<const engine::cuda::GraphStatistics> graphs_;
};

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_GRAPH_METRICS_H_
