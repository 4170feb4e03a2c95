// An InferRequest as it came over the wire, made into what the server takes. Total: any message gives a
// request or a status.
#ifndef TRELLIS_SERVE_SERVER_GRPC_REQUEST_H_
#define TRELLIS_SERVE_SERVER_GRPC_REQUEST_H_

#include <chrono>

#include "absl/status/statusor.h"
#include "serve/server/request.h"
#include "trellis/v1/inference.pb.h"

namespace trellis::server {

// Checks what only the wire can get wrong: shape (cu_seqlens, one task a row) and enum numbers.
// InvalidArgument names the field or row. What depends on the model (ids, lengths, tasks, dimensions) is
// Submit's to check. `done` and `deadline` are left.
absl::StatusOr<Request> RequestFromWire(const v1::InferRequest& wire);

// A gRPC deadline is a time of day. Infinite and unimaginable ones become Clock::time_point::max().
Clock::time_point SteadyDeadline(std::chrono::system_clock::time_point deadline);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_REQUEST_H_
