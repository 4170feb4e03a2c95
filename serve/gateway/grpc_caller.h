// Who calls over gRPC, and what every call goes through before its messages are looked at.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_CALLER_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_CALLER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "serve/gateway/api_error.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/gateway_call.h"
#include "serve/gateway/request_record.h"

namespace trellis::gateway {

struct GrpcCaller {
  RequestRecord record;  // method, peer, ids
  std::shared_ptr<const Origin> origin;
  std::string authorization;
  server::Clock::time_point arrived;
  server::Clock::time_point deadline;
};

// Adds the request's id to what the answer's metadata will be. `method` lives as long as the program.
GrpcCaller CallerOf(grpc::CallbackServerContext& call, const char* method);

// The key, and whether there is anything to ask.
std::optional<ApiError> AdmitCaller(const Gateway& gateway, const GrpcCaller& caller);

grpc::Status ToStatus(const ApiError& error);

// For observers: a call, or a message of a stream, that ended so. `record` is what a PlannedCall gave, or the
// caller's own.
void TellOfCall(const Gateway& gateway, RequestRecord record, const std::optional<ApiError>& error,
                size_t response_bytes, RequestRecord::Client client);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_CALLER_H_
