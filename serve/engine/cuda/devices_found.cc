#include "serve/engine/cuda/devices_found.h"

#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {
namespace {

constexpr int kOldestArchitecture = 80;  // of those that tools/cmake/cuda.cmake compiles for

std::string Version(int number) { return absl::StrCat(number / 1000, ".", number % 1000 / 10); }

}  // namespace

absl::Status CheckDevices(int ordinal, const DevicesFound& found) {
  const auto missing = [ordinal](const auto&... what) {
    return absl::FailedPreconditionError(absl::StrCat("cuda:", ordinal, ": ", what..., kWithoutGpu));
  };
  if (found.driver == 0) {
    return missing("no NVIDIA driver, expected one for CUDA ", Version(found.runtime), " or newer");
  }
  if (found.driver / 1000 < found.runtime / 1000) {  // within one they are compatible
    return missing("the driver knows CUDA up to ", Version(found.driver), ", expected ",
                   Version(found.runtime / 1000 * 1000), " or newer");
  }
  if (found.devices == 0) {
    return missing("the driver shows no GPU", found.error.empty() ? "" : ": ", found.error,
                   "; is CUDA_VISIBLE_DEVICES right?");
  }
  if (ordinal < 0 || ordinal >= found.devices) {
    return missing("no such GPU, expected 0 to ", found.devices - 1, ", as many as the driver shows");
  }
  if (!found.error.empty()) return missing(found.error);
  if (found.architecture < kOldestArchitecture) {
    return missing("compute capability ", found.architecture / 10, ".", found.architecture % 10,
                   ", expected 8.0 or newer");
  }
  return absl::OkStatus();
}

}  // namespace trellis::engine::cuda
