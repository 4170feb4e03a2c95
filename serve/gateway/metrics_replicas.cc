#include "serve/gateway/metrics_replicas.h"

#include <cstddef>
#include <utility>

#include "prometheus/client_metric.h"
#include "prometheus/metric_type.h"

namespace trellis::gateway {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

constexpr std::pair<Balancer::Retry, const char*> kReasons[] = {
    {Balancer::Retry::kUnavailable, "unavailable"}, {Balancer::Retry::kOverloaded, "overloaded"}};
static_assert(std::size(kReasons) == Balancer::kRetries);

ClientMetric Labelled(const char* name, const std::string& value) {
  ClientMetric metric;
  metric.label = {{name, value}};
  return metric;
}

}  // namespace

ReplicaMetrics::ReplicaMetrics(const Balancer& balancer, std::vector<std::string> names)
    : balancer_(balancer), names_(std::move(names)) {}

std::vector<prometheus::MetricFamily> ReplicaMetrics::Collect() const {
  prometheus::MetricFamily up{
      "trellis_replica_up", "1: the replica gets requests; 0: none.", MetricType::Gauge, {}};
  prometheus::MetricFamily outstanding{
      "trellis_replica_outstanding", "Tokens under way at the replica.", MetricType::Gauge, {}};
  for (size_t r = 0; r < names_.size(); ++r) {
    up.metric.push_back(Labelled("replica", names_[r]));
    up.metric.back().gauge.value = balancer_.up(r) ? 1 : 0;
    outstanding.metric.push_back(Labelled("replica", names_[r]));
    outstanding.metric.back().gauge.value = static_cast<double>(balancer_.outstanding(r));
  }
  prometheus::MetricFamily retries{"trellis_retries_total",
                                   "Requests tried at a second replica, by what the first one said.",
                                   MetricType::Counter,
                                   {}};
  for (const auto& [reason, label] : kReasons) {
    retries.metric.push_back(Labelled("reason", label));
    retries.metric.back().counter.value = static_cast<double>(balancer_.retried(reason));
  }
  return {std::move(up), std::move(outstanding), std::move(retries)};
}

}  // namespace trellis::gateway
