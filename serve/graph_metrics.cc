#include "serve/graph_metrics.h"

#include <string>

#include "prometheus/client_metric.h"
#include "prometheus/metric_type.h"

namespace trellis::program {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Counter(const char* name, const char* help, int64_t value) {
  ClientMetric metric;
  metric.counter.value = static_cast<double>(value);
  return {name, help, MetricType::Counter, {std::move(metric)}};
}

MetricFamily Gauge(const char* name, const char* help, double value) {
  ClientMetric metric;
  metric.gauge.value = value;
  return {name, help, MetricType::Gauge, {std::move(metric)}};
}

MetricFamily Launches(int64_t eager, int64_t replays) {
  MetricFamily family{"trellis_gpu_batches_total",
                      "Batches given to the GPU, kernel by kernel or as a graph.",
                      MetricType::Counter,
                      {}};
  for (const auto& [launch, count] : {std::pair("eager", eager), std::pair("graph", replays)}) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {{"launch", launch}};
    metric.counter.value = static_cast<double>(count);
  }
  return family;
}

}  // namespace

std::vector<MetricFamily> GraphMetrics::Collect() const {
  const engine::cuda::GraphCounters counters = graphs_->Read();
  return {Launches(counters.eager, counters.replays),
          Counter("trellis_gpu_graph_captures_total", "Graphs made.", counters.captures),
          Counter("trellis_gpu_graph_failures_total",
                  "Graphs that could not be made or launched; their batches ran kernel by kernel.",
                  counters.failures),
          Counter("trellis_gpu_graph_evictions_total", "Graphs given up for others.", counters.evictions),
          Gauge("trellis_gpu_graphs", "Graphs there are.", static_cast<double>(counters.graphs)),
          Gauge("trellis_gpu_graph_bytes", "GPU memory that they take, as far as that can be told.",
                static_cast<double>(counters.bytes)),
          Gauge("trellis_gpu_graph_max_tokens",
                "The inflection point: tokens above which a batch is never a graph.", counters.max_tokens)};
}

}  // namespace trellis::program
