// In programs that were built without TRELLIS_CUDA.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/cuda_options.h"
#include "serve/engine/cuda/devices_found.h"
#include "serve/engine/cuda/opened_engine.h"

namespace trellis::engine::cuda {

absl::StatusOr<OpenedEngine> OpenCudaEngine(std::string_view spec) {
  // What is said wrong is said first, since it would be wrong elsewhere too.
  const auto options = ParseCudaEngineOptions(spec);
  if (!options.ok()) return options.status();
  return absl::UnimplementedError(absl::StrCat(
      "cuda:", options->device,
      ": this program was built without CUDA, expected one that was built with cmake -DTRELLIS_CUDA=ON",
      kWithoutGpu));
}

}  // namespace trellis::engine::cuda
