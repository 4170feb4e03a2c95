// What an error of CUDA's runtime means to this engine.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_STATUS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_STATUS_H_

#include <cuda_runtime_api.h>

#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

// Of what a call has returned. The runtime keeps an error that goes away until it is asked for, and it would
// be taken for the next launch's: this asks.
DeviceStatus Checked(cudaError_t error);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_DEVICE_STATUS_H_
