#include "serve/gateway/metrics_requests.h"

#include <chrono>

#include "prometheus/text_serializer.h"
#include "serve/gateway/routes.h"

namespace trellis::gateway {
namespace {

// All that the table of errors knows, and what success is.
constexpr int kCodes[] = {200, 204, 304, 400, 401, 404, 405, 413, 415, 422, 424, 429, 431, 500, 503, 504};
constexpr const char* kOtherRoute = "other";  // a path that is none of ours

const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

}  // namespace

RequestMetrics::RequestMetrics(prometheus::Registry& registry)
    : truncated_(&prometheus::BuildCounter()
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
}

void RequestMetrics::CountHttp(const RequestRecord& record) {
  const std::string_view route = record.route == nullptr ? kOtherRoute : record.route;
  const ByCode& codes = requests_.at(route);
  if (const auto counter = codes.find(record.status); counter != codes.end()) counter->second->Increment();
  durations_.at(route)->Observe(std::chrono::duration<double>(record.total).count());
}

void RequestMetrics::RequestDone(const RequestRecord& record) {
  if (record.face == RequestRecord::Face::kHttp) CountHttp(record);
  if (!record.fault.has_value()) truncated_->Increment(static_cast<double>(record.truncated));
}

std::string MetricsText(const prometheus::Collectable& series) {
  return prometheus::TextSerializer().Serialize(series.Collect());
}

}  // namespace trellis::gateway
