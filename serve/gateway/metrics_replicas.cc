#include "serve/gateway/metrics_replicas.h"

#include <cstddef>
#include <utility>

#include "prometheus/client_metric.h"
#include "prometheus/metric_type.h"

namespace trellis::gateway {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

constexpr std::pair<Retry, const char*> kReasons[] = {
    {Retry::kUnavailable, "unavailable"}, {Retry::kOverloaded, "overloaded"}, {Retry::kFailed, "failed"}};
static_assert(std::size(kReasons) == kRetries);

ClientMetric Labelled(const char* name, const std::string& value) {
  ClientMetric metric;
  metric.label = {{name, value}};
  return metric;
}

}  // namespace

std::vector<prometheus::MetricFamily> ReplicaMetrics::Collect() const {
  prometheus::MetricFamily up{
      "trellis_replica_up", "1: the replica gets requests; 0: none.", MetricType::Gauge, {}};
  prometheus::MetricFamily outstanding{
      "trellis_replica_outstanding", "Tokens under way at the replica.", MetricType::Gauge, {}};
  prometheus::MetricFamily ejections{"trellis_replica_ejections_total",
                                     "How often the replica got nothing for a while, since its calls failed.",
                                     MetricType::Counter,
                                     {}};
  for (const Balancer::State& replica : balancer_.replicas()) {
    up.metric.push_back(Labelled("replica", replica.address));
    up.metric.back().gauge.value = replica.up ? 1 : 0;
    outstanding.metric.push_back(Labelled("replica", replica.address));
    outstanding.metric.back().gauge.value = static_cast<double>(replica.outstanding);
    ejections.metric.push_back(Labelled("replica", replica.address));
    ejections.metric.back().counter.value = static_cast<double>(replica.ejections);
  }
  prometheus::MetricFamily retries{"trellis_retries_total",
                                   "Requests tried at a second replica, by what the first one said.",
                                   MetricType::Counter,
                                   {}};
  for (const auto& [reason, label] : kReasons) {
    retries.metric.push_back(Labelled("reason", label));
    retries.metric.back().counter.value = static_cast<double>(balancer_.retried(reason));
  }
  return {std::move(up), std::move(outstanding), std::move(ejections), std::move(retries)};
}

}  // namespace trellis::gateway
