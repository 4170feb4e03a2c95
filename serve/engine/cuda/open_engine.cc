// In programs that were built with TRELLIS_CUDA.
#include <cstdlib>
#include <string>

#include "serve/engine/cuda/cuda_device.h"
#include "serve/engine/cuda/cuda_options.h"
#include "serve/engine/cuda/opened_engine.h"
#include "serve/engine/cuda/start_engine.h"

namespace trellis::engine::cuda {

absl::StatusOr<OpenedEngine> OpenCudaEngine(std::string_view spec) {
  const auto options = ParseCudaEngineOptions(spec);
  if (!options.ok()) return options.status();
  const char* const cublaslt = std::getenv("TRELLIS_CUBLASLT");
  const auto open = [device = options->device, library = std::string(cublaslt != nullptr ? cublaslt : "")] {
    return OpenCudaDevice(device, library);
  };
  return StartEngine(*options, open, PlanOf(*options));
}

}  // namespace trellis::engine::cuda
