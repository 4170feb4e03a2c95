// Requests and replies as trellis/v1 has them on the wire.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_MESSAGES_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_MESSAGES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"
#include "serve/gateway/replica.h"
#include "serve/server/request.h"
#include "trellis/v1/inference.pb.h"

namespace trellis::gateway {

v1::InferRequest ToWire(const server::Request& request);
// Internal where the reply contradicts itself or the number of rows that were asked for.
server::Reply FromWire(const v1::InferReply& wire, size_t rows);
// Fails the rows of `reply` that have not as many values as `asked` them for, or values that are not finite:
// a replica is another program, perhaps of another version.
void CheckRows(const v1::InferRequest& asked, const engine::EngineLimits& limits, server::Reply& reply);

ReplicaModel FromWire(const v1::ModelDescription& wire);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_MESSAGES_H_
