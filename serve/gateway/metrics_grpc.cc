#include "serve/gateway/metrics_grpc.h"

#include <chrono>

#include "absl/status/status.h"

namespace trellis::gateway {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10};

// What CodeOf gives, what success is, and a client that is gone.
constexpr absl::StatusCode kCodes[] = {absl::StatusCode::kOk,
                                       absl::StatusCode::kCancelled,
                                       absl::StatusCode::kInvalidArgument,
                                       absl::StatusCode::kDeadlineExceeded,
                                       absl::StatusCode::kNotFound,
                                       absl::StatusCode::kResourceExhausted,
                                       absl::StatusCode::kFailedPrecondition,
                                       absl::StatusCode::kUnimplemented,
                                       absl::StatusCode::kInternal,
                                       absl::StatusCode::kUnavailable,
                                       absl::StatusCode::kUnauthenticated};

}  // namespace

GrpcMetrics::GrpcMetrics(prometheus::Registry& registry, std::span<const char* const> methods) {
  auto& requests = prometheus::BuildCounter()
                       .Name("trellis_grpc_requests_total")
                       .Help("Answers, by method and status; of a stream, its messages.")
                       .Register(registry);
  auto& durations = prometheus::BuildHistogram()
                        .Name("trellis_grpc_request_duration_seconds")
                        .Help("From a message to its answer.")
                        .Register(registry);
  for (const char* method : methods) {
    for (const absl::StatusCode code : kCodes) {
      requests_[method][static_cast<int>(code)] =
          &requests.Add({{"method", method}, {"code", absl::StatusCodeToString(code)}});
    }
    durations_[method] = &durations.Add({{"method", method}}, kSeconds);
  }
}

void GrpcMetrics::RequestDone(const RequestRecord& record) {
  if (record.face != RequestRecord::Face::kGrpc) return;
  const ByCode& codes = requests_.at(record.route);
  if (const auto counter = codes.find(record.status); counter != codes.end()) counter->second->Increment();
  durations_.at(record.route)->Observe(std::chrono::duration<double>(record.total).count());
}

}  // namespace trellis::gateway
