#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

const char* NameOf(DeviceStatus status) {
  switch (status) {
    case DeviceStatus::kOk:
      return "ok";
    case DeviceStatus::kNotReady:
      return "not ready";
    case DeviceStatus::kOutOfMemory:
      return "out of memory";
    case DeviceStatus::kCaptureUnsupported:
      return "not allowed during a capture";
    case DeviceStatus::kCaptureInvalidated:
      return "capture invalidated";
    case DeviceStatus::kInvalid:
      return "invalid argument";
    case DeviceStatus::kLaunchFailed:
      return "a kernel failed";
    case DeviceStatus::kFatal:
      return "device lost";
  }
  return "unknown status";
}

}  // namespace trellis::engine::cuda
