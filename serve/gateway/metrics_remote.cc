#include "serve/gateway/metrics_remote.h"

#include <cstddef>
#include <iterator>
#include <string>

namespace trellis::gateway {
namespace {

// By engine::Task, as in serve/server/metrics_recorder.cc.
constexpr const char* kTaskLabels[] = {"embed", "embed_all", "sparse", "classify"};
static_assert(std::size(kTaskLabels) == engine::kTasks);

std::array<prometheus::Counter*, engine::kTasks> ByTask(prometheus::Registry& registry,
                                                        const std::string& name, const std::string& help) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  std::array<prometheus::Counter*, engine::kTasks> counters;
  for (size_t t = 0; t < counters.size(); ++t) counters[t] = &family.Add({{"task", kTaskLabels[t]}});
  return counters;
}

prometheus::Counter& NewCounter(prometheus::Registry& registry, const std::string& name,
                                const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

RemoteMetrics::RemoteMetrics(prometheus::Registry& registry)
    : inputs_(ByTask(registry, "trellis_inputs_total", "Inputs that were answered, by task.")),
      tokens_(ByTask(registry, "trellis_tokens_total", "Tokens sent to the servers, by task.")),
      cancelled_(NewCounter(registry, "trellis_cancelled_total", "Requests that their client gave up.")),
      non_finite_(NewCounter(registry, "trellis_nonfinite_total",
                             "Requests with a row whose values were not finite.")),
      in_flight_(prometheus::BuildGauge()
                     .Name("trellis_inflight_requests")
                     .Help("Requests that have a place and are not yet answered.")
                     .Register(registry)
                     .Add({})) {
  auto& rejected = prometheus::BuildCounter()
                       .Name("trellis_rejected_total")
                       .Help("Requests that were not served though nothing is wrong with them.")
                       .Register(registry);
  overloaded_ = &rejected.Add({{"reason", "overloaded"}});
  unavailable_ = &rejected.Add({{"reason", "unavailable"}});
  deadline_ = &rejected.Add({{"reason", "deadline"}});
}

void RemoteMetrics::RequestDone(const RequestRecord& record) {
  if (record.method != "POST") return;  // a probe, or a page
  if (record.place == RequestRecord::Place::kHad) in_flight_.Decrement();
  const auto task = static_cast<size_t>(record.task);
  tokens_[task]->Increment(static_cast<double>(record.tokens));
  if (record.client == RequestRecord::Client::kGone) return cancelled_.Increment();
  if (!record.fault.has_value()) return inputs_[task]->Increment(static_cast<double>(record.inputs));
  if (record.fault == Fault::kNonFinite) non_finite_.Increment();
  if (record.fault == Fault::kOverloaded) overloaded_->Increment();
  if (record.fault == Fault::kNotReady) unavailable_->Increment();
  if (record.fault == Fault::kDeadline) deadline_->Increment();
}

}  // namespace trellis::gateway
