#include "serve/engine/cuda/device_error.h"

#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {

absl::Status DeviceError(DeviceStatus status, const std::string& what, size_t bytes) {
  if (status == DeviceStatus::kOk) return absl::OkStatus();
  std::string text = absl::StrCat("cuda engine: ", what, ": ", NameOf(status));
  if (bytes != 0) absl::StrAppend(&text, " for ", bytes, " bytes");
  if (IsFatal(status)) return absl::UnavailableError(text);
  if (status == DeviceStatus::kOutOfMemory) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

}  // namespace trellis::engine::cuda
