#include "serve/engine/cuda/cuda_device_status.h"

namespace trellis::engine::cuda {
namespace {

DeviceStatus StatusOf(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return DeviceStatus::kOk;
    case cudaErrorNotReady:
      return DeviceStatus::kNotReady;
    case cudaErrorMemoryAllocation:
      return DeviceStatus::kOutOfMemory;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
      return DeviceStatus::kCaptureUnsupported;
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureWrongThread:
      return DeviceStatus::kCaptureInvalidated;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorNotSupported:
      return DeviceStatus::kInvalid;
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
      return DeviceStatus::kLaunchFailed;
    default:
      return DeviceStatus::kFatal;  // better dead than wrong
  }
}

}  // namespace

DeviceStatus Checked(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
  return StatusOf(error);
}

}  // namespace trellis::engine::cuda
