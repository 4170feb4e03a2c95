#include "serve/engine/cuda/cuda_device_query.h"

#include <cuda_runtime_api.h>

#include "serve/engine/cuda/cuda_device_status.h"

namespace trellis::engine::cuda {

DevicesFound FindCudaDevices(int ordinal) {
  DevicesFound found;
  found.runtime = CUDART_VERSION;
  const auto ask = [&found](cudaError_t error) {
    if (Checked(error) != DeviceStatus::kOk && found.error.empty()) found.error = cudaGetErrorString(error);
    return error == cudaSuccess;
  };
  (void)cudaDriverGetVersion(&found.driver);  // asks no GPU, and says 0 where there is no driver
  if (ask(cudaGetDeviceCount(&found.devices)) && ordinal >= 0 && ordinal < found.devices &&
      ask(cudaSetDevice(ordinal))) {
    int major = 0, minor = 0;
    if (ask(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal)) &&
        ask(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal))) {
      found.architecture = 10 * major + minor;
    }
  }
  return found;
}

}  // namespace trellis::engine::cuda
