// What the GPUs of this machine are, by CUDA's runtime.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_QUERY_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_QUERY_H_

#include "serve/engine/cuda/devices_found.h"

namespace trellis::engine::cuda {

// Makes `ordinal`, if there is such a GPU, the calling thread's own.
DevicesFound FindCudaDevices(int ordinal);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_QUERY_H_
