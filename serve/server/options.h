// What an operator may ask for, checked against what the engine can do, and turned into what the scheduler
// obeys.
#ifndef TRELLIS_SERVE_SERVER_OPTIONS_H_
#define TRELLIS_SERVE_SERVER_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "serve/engine/engine.h"
#include "serve/server/scheduler.h"
#include "serve/server/server.h"

namespace trellis::server {

// InvalidArgument names the limit: an engine with such limits could not run its own longest row.
absl::Status CheckEngineLimits(const engine::EngineLimits& limits);

// InvalidArgument names the option, its value and what was expected. 0 stands for a default where server.h
// says so.
absl::Status CheckOptions(const ServerOptions& options, const engine::EngineLimits& limits);

// The options in force, given a budget of tokens for a batch.
SchedulerOptions Resolve(const ServerOptions& options, const engine::EngineLimits& limits,
                         int64_t max_batch_tokens);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_OPTIONS_H_
