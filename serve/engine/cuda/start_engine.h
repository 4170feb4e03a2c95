// From a model's folder to an engine that is ready for its warm-up, whatever the device is.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_START_ENGINE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_START_ENGINE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/cuda_options.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/opened_engine.h"
#include "serve/engine/cuda/warm_up.h"

namespace trellis::engine::cuda {

// On the device's thread.
using OpenDevice = std::function<absl::StatusOr<std::shared_ptr<Device>>()>;

// What the options ask for, compared with the CPU engine in float on the same folder.
WarmUpPlan PlanOf(const CudaEngineOptions& options);

absl::StatusOr<OpenedEngine> StartEngine(const CudaEngineOptions& options, OpenDevice open, WarmUpPlan plan);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_START_ENGINE_H_
