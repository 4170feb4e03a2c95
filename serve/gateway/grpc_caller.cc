#include "serve/gateway/grpc_caller.h"

#include <string_view>

#include "serve/gateway/request_id.h"
#include "serve/gateway/trace_headers.h"
#include "serve/gateway/utf8_text.h"
#include "serve/server/grpc_request.h"

namespace trellis::gateway {
namespace {

std::string Metadata(const grpc::CallbackServerContext& call, const char* name) {
  const auto found = call.client_metadata().find(name);
  return found == call.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
}

// As in the lines of HTTP: gRPC puts the family in front.
std::string PeerOf(const grpc::CallbackServerContext& call) {
  const std::string peer = call.peer();
  for (const std::string_view family : {"ipv4:", "ipv6:"}) {
    if (peer.starts_with(family)) return peer.substr(family.size());
  }
  return peer;
}

}  // namespace

GrpcCaller CallerOf(grpc::CallbackServerContext& call, const char* method) {
  GrpcCaller caller;
  caller.record.face = RequestRecord::Face::kGrpc;
  caller.record.route = method;
  caller.record.method = "GRPC";
  caller.record.path = method;
  caller.record.peer = PeerOf(call);
  caller.record.request_id = RequestId(Metadata(call, "x-request-id"));
  const std::string traceparent = Metadata(call, "traceparent");
  caller.record.trace_id = TraceId(traceparent);
  caller.origin = OriginOf(caller.record.request_id, traceparent, Metadata(call, "tracestate"));
  caller.authorization = Metadata(call, "authorization");
  caller.arrived = server::Clock::now();
  caller.deadline = server::SteadyDeadline(call.deadline());
  call.AddInitialMetadata("x-request-id", caller.record.request_id);
  return caller;
}

std::optional<ApiError> AdmitCaller(const Gateway& gateway, const GrpcCaller& caller) {
  if (auto wrong = gateway.CheckKey(caller.authorization)) return wrong;
  return gateway.CheckReady();
}

grpc::Status ToStatus(const ApiError& error) {
  return {static_cast<grpc::StatusCode>(CodeOf(error.fault)), Utf8Text(error.message)};
}

void TellOfCall(const Gateway& gateway, RequestRecord record, const std::optional<ApiError>& error,
                size_t response_bytes, RequestRecord::Client client) {
  if (error.has_value()) {
    record.fault = error->fault;
    record.client = client;
    const bool given_up = client == RequestRecord::Client::kGone && error->fault != Fault::kDeadline;
    record.status = static_cast<int>(given_up ? absl::StatusCode::kCancelled : CodeOf(error->fault));
  }
  record.response_bytes = response_bytes;
  gateway.Tell(record);
}

}  // namespace trellis::gateway
