// The five services of tei.v1 over gRPC's callback API: which method is which kind of call. All but Info are
// raw: their messages are parsed where the work is done, and one that is none, or has strings that are no
// UTF-8, gets a status that says so.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_TEI_SERVICES_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_TEI_SERVICES_H_

#include <memory>
#include <vector>

#include "grpcpp/impl/codegen/service_type.h"
#include "serve/gateway/grpc_stream_call.h"

namespace trellis::gateway {

// `face` outlives them.
std::vector<std::unique_ptr<grpc::Service>> MakeTeiServices(TeiFace& face);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_TEI_SERVICES_H_
