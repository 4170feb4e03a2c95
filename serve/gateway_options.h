// What the gateway is told, as the flags and the model's folder have it.
#ifndef TRELLIS_SERVE_GATEWAY_OPTIONS_H_
#define TRELLIS_SERVE_GATEWAY_OPTIONS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/grpc_tei_listener.h"
#include "serve/gateway_flags.h"
#include "serve/model/model_folder.h"

namespace trellis::program {

// All but facts.compute_type. NotFound where --default-prompt-name names none of the folder's prompts.
absl::StatusOr<gateway::GatewayOptions> OptionsOf(const GatewayFlags& flags,
                                                  const model::ModelFolder& folder);

// Of --grpc-port, which is given.
gateway::GrpcOptions GrpcOptionsOf(const GatewayFlags& flags);

// 0 stands for one a core.
size_t OrCores(size_t threads);

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_GATEWAY_OPTIONS_H_
