// How long a message may be, so that no limit of the wire refuses what the other limits allow, and none
// allows what they never could use.
#ifndef TRELLIS_SERVE_SERVER_GRPC_LIMITS_H_
#define TRELLIS_SERVE_SERVER_GRPC_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "serve/engine/engine.h"
#include "serve/server/server.h"

namespace trellis::server {

struct MessageLimits {
  int64_t request_bytes = 0;
  int64_t reply_bytes = 0;
};

// Request: as many tokens as the queue can hold, in the longest encoding. Reply: whatever the longest
// request, or one full batch of the engine's longest task, or as many failed rows as the queue can hold, can
// need. Both at least gRPC's default of 4 MiB and at most what a message can be. `override_bytes` (not 0)
// replaces both.
MessageLimits LimitsFor(const engine::EngineLimits& engine, const ServerOptions& options,
                        int64_t override_bytes);

// What `override_bytes` may be: 0, or enough for the longest row and for the answer to one row that has one
// vector. InvalidArgument says how many that is.
absl::Status CheckMessageBytes(const engine::EngineLimits& engine, int64_t override_bytes);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_LIMITS_H_
