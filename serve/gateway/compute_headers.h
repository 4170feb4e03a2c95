// What text-embeddings-inference tells beside an answer, under its names.
#ifndef TRELLIS_SERVE_GATEWAY_COMPUTE_HEADERS_H_
#define TRELLIS_SERVE_GATEWAY_COMPUTE_HEADERS_H_

#include <string>
#include <utility>
#include <vector>

#include "serve/gateway/route_plan.h"

namespace trellis::gateway {

// x-compute-* and x-*-time, of HTTP and of gRPC. Times are milliseconds.
std::vector<std::pair<std::string, std::string>> ComputeHeaders(const RowCosts& costs,
                                                                const std::string& compute_type);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_COMPUTE_HEADERS_H_
