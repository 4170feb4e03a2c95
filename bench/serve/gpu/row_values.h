// What the engine makes of rows, for somebody else to compare.
#ifndef TRELLIS_BENCH_SERVE_GPU_ROW_VALUES_H_
#define TRELLIS_BENCH_SERVE_GPU_ROW_VALUES_H_

#include <string>

#include "absl/status/status.h"
#include "bench/serve/batch_commands.h"
#include "serve/engine/cuda/device_thread.h"

namespace trellis::engine::cuda {

// The rows with each task that the model has, task after task, as many of them in a step as fit. Into the
// file: float32 values of row after row, and for sparse weights each row's int32 ids behind its values. One
// line of JSON a task on stdout: {"part": "values", "task", "counts": [values of each row]}.
absl::Status WriteValues(DeviceThread& thread, const Rows& rows, const std::string& path);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_BENCH_SERVE_GPU_ROW_VALUES_H_
