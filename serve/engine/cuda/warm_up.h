// What an engine does before its first request: runs what will be asked for, so that nothing is loaded,
// chosen or captured while somebody waits, and finds up to which size graphs are worth it.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_WARM_UP_H_
#define TRELLIS_SERVE_ENGINE_CUDA_WARM_UP_H_

#include "absl/status/statusor.h"
#include "serve/engine/cuda/device_thread.h"
#include "serve/engine/cuda/inflection.h"
#include "serve/engine/cuda/pipeline_times.h"

namespace trellis::engine::cuda {

// Measures, and has graphs used up to what was found. Unavailable: the device is dead. Nothing else may be in
// flight.
absl::StatusOr<Inflection> WarmUp(DeviceThread& thread, const PipelineTimes::Now& now);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_WARM_UP_H_
