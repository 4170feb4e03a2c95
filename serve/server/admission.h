// What a request must be like to be accepted: whatever passes here fits into a batch and into the queue, so
// that the queue's head can always be served and the engine need not check again.
#ifndef TRELLIS_SERVE_SERVER_ADMISSION_H_
#define TRELLIS_SERVE_SERVER_ADMISSION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "serve/engine/engine.h"
#include "serve/server/request.h"

namespace trellis::server {

// `max_queued_tokens`: of the request's class. OK, InvalidArgument (malformed or too large for ever) or
// FailedPrecondition (a task that the model does not have). The message names row, field, value and what was
// expected. Pure; costs a pass over the ids.
absl::Status CheckRequest(const Request& request, const engine::EngineLimits& limits,
                          int64_t max_queued_tokens);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_ADMISSION_H_
