// The CUDA engine for a program: all that it needs to know, without a header of the engine's own.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_OPENED_ENGINE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_OPENED_ENGINE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/graph_counters.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  // To be called once, before the first Step, while the engine is there; blocking, some seconds. What it
  // found, for the log; an error: the engine must not be served.
  std::function<absl::StatusOr<std::string>()> warm_up;
  std::shared_ptr<const GraphStatistics> graphs;
};

// From a command line; see ParseCudaEngineOptions. FailedPrecondition: there is no such GPU, or no driver,
// and Unimplemented: this program was built without TRELLIS_CUDA; both say how to run without.
absl::StatusOr<OpenedEngine> OpenCudaEngine(std::string_view spec);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_OPENED_ENGINE_H_
