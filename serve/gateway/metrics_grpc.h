// Series of calls over gRPC, by method and status. The series of requests that do not ask for a face
// (metrics_requests.h) count them too.
#ifndef TRELLIS_SERVE_GATEWAY_METRICS_GRPC_H_
#define TRELLIS_SERVE_GATEWAY_METRICS_GRPC_H_

#include <map>
#include <span>
#include <string_view>

#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "serve/gateway/request_record.h"

namespace trellis::gateway {

class GrpcMetrics final : public RequestObserver {
 public:
  // Adds its series to `registry`. `methods` are all that records can have as their route; they live as long
  // as the program.
  GrpcMetrics(prometheus::Registry& registry, std::span<const char* const> methods);

  void RequestDone(const RequestRecord& record) override;

 private:
  using ByCode = std::map<int, prometheus::Counter*>;
  std::map<std::string_view, ByCode> requests_;
  std::map<std::string_view, prometheus::Histogram*> durations_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_METRICS_GRPC_H_
