#include "serve/gateway/metrics_requests.h"

#include <cstddef>

#include "prometheus/text_serializer.h"
#include "serve/gateway/api_error.h"
#include "serve/gateway/routes.h"

namespace trellis::gateway {
namespace {

using prometheus::Histogram;

// All that the table of errors knows, and what success is.
constexpr int kCodes[] = {200, 204, 400, 401, 404, 405, 413, 415, 422, 424, 429, 431, 500, 503, 504};
constexpr const char* kOtherRoute = "other";  // a path that is none of ours

const Histogram::BucketBoundaries kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                              0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
const Histogram::BucketBoundaries kTokens = {1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192};

double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

Histogram& NewHistogram(prometheus::Registry& registry, const std::string& name, const std::string& help,
                        const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

}  // namespace

RequestMetrics::Inputs RequestMetrics::NewInputs(prometheus::Registry& registry, const std::string& name) {
  auto& count = prometheus::BuildCounter().Name(name + "_count").Help("Inputs computed.").Register(registry);
  auto& success =
      prometheus::BuildCounter().Name(name + "_success").Help("Inputs answered.").Register(registry);
  return {&count.Add({}), &success.Add({}),
          &NewHistogram(registry, name + "_duration", "Seconds of a request with such inputs.", kSeconds)};
}

RequestMetrics::ByMethod RequestMetrics::NewByMethod(prometheus::Registry& registry, const std::string& name,
                                                     const std::string& help) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  return {&family.Add({{"method", "single"}}), &family.Add({{"method", "batch"}})};
}

RequestMetrics::RequestMetrics(prometheus::Registry& registry)
    : count_(NewByMethod(registry, "te_request_count", "Requests for rows.")),
      success_(NewByMethod(registry, "te_request_success", "Requests for rows that were answered.")),
      embed_(NewInputs(registry, "te_embed")),
      predict_(NewInputs(registry, "te_predict")),
      duration_(&NewHistogram(registry, "te_request_duration", "Seconds of a request.", kSeconds)),
      tokenization_(
          &NewHistogram(registry, "te_request_tokenization_duration", "Seconds of tokenizing.", kSeconds)),
      queue_(&NewHistogram(registry, "te_request_queue_duration", "Seconds in the queue.", kSeconds)),
      inference_(
          &NewHistogram(registry, "te_request_inference_duration", "Seconds in the engine.", kSeconds)),
      input_length_(&NewHistogram(registry, "te_request_input_length", "Tokens of a request.", kTokens)),
      truncated_(&prometheus::BuildCounter()
                      .Name("trellis_truncated_inputs_total")
                      .Help("Inputs that were cut.")
                      .Register(registry)
                      .Add({})) {
  auto& requests = prometheus::BuildCounter()
                       .Name("trellis_http_requests_total")
                       .Help("Answers, by route and status.")
                       .Register(registry);
  auto& durations = prometheus::BuildHistogram()
                        .Name("trellis_http_request_duration_seconds")
                        .Help("From the request's last byte to the answer.")
                        .Register(registry);
  const auto add = [&](const char* route) {
    for (const int code : kCodes)
      requests_[route][code] = &requests.Add({{"route", route}, {"code", std::to_string(code)}});
    durations_[route] = &durations.Add({{"route", route}}, kSeconds);
  };
  for (const Route& route : Routes()) add(route.path);
  add(kOtherRoute);
  auto& failures = prometheus::BuildCounter()
                       .Name("te_request_failure")
                       .Help("Requests that were not served, by reason.")
                       .Register(registry);
  for (size_t f = 0; f <= static_cast<size_t>(Fault::kEngine); ++f) {
    const char* label = FailureLabel(static_cast<Fault>(f));
    failures_.try_emplace(label, &failures.Add({{"err", label}}));
  }
}

void RequestMetrics::RequestDone(const RequestRecord& record) {
  const std::string_view route = record.route == nullptr ? kOtherRoute : record.route;
  const ByCode& codes = requests_.at(route);
  if (const auto counter = codes.find(record.status); counter != codes.end()) counter->second->Increment();
  durations_.at(route)->Observe(Seconds(record.total));
  if (record.failure != nullptr) failures_.at(record.failure)->Increment();
  if (record.inputs == 0) return;
  const bool served = record.failure == nullptr;
  prometheus::Counter* ByMethod::*const method = record.inputs == 1 ? &ByMethod::single : &ByMethod::batch;
  (count_.*method)->Increment();
  const Inputs& inputs = record.task == engine::Task::kClassify ? predict_ : embed_;
  inputs.count->Increment(static_cast<double>(record.inputs));
  duration_->Observe(Seconds(record.total));
  inputs.duration->Observe(Seconds(record.total));
  if (!served) return;
  (success_.*method)->Increment();
  inputs.success->Increment(static_cast<double>(record.inputs));
  tokenization_->Observe(Seconds(record.tokenization));
  queue_->Observe(Seconds(record.queue));
  inference_->Observe(Seconds(record.inference));
  input_length_->Observe(static_cast<double>(record.tokens));
  truncated_->Increment(static_cast<double>(record.truncated));
}

std::string MetricsText(const prometheus::Collectable& series) {
  return prometheus::TextSerializer().Serialize(series.Collect());
}

}  // namespace trellis::gateway
