// Rows as the engine's steps take them.
#ifndef TRELLIS_BENCH_SERVE_GPU_STEP_ROWS_H_
#define TRELLIS_BENCH_SERVE_GPU_STEP_ROWS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/serve/batch_commands.h"
#include "serve/engine/engine.h"

namespace trellis::engine {

// What a model is for: a vector a row, or else scores.
Task OwnTask(const EngineLimits& limits);
Rows WithTask(Rows rows, Task task);

// In order, as many rows in each step as fit. InvalidArgument: a row that no step takes.
absl::StatusOr<std::vector<Rows>> StepsOf(const Rows& rows, const EngineLimits& limits);

}  // namespace trellis::engine

#endif  // TRELLIS_BENCH_SERVE_GPU_STEP_ROWS_H_
