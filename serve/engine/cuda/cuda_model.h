// An encoder of a checkpoint, with its heads, on a GPU.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_MODEL_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "serve/engine/checkpoint.h"
#include "serve/engine/cuda/cuda_encoder.h"
#include "serve/engine/cuda/forward.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cuda {

// On the device's thread. The weights are copied and need not outlive this. An error names tensor, size or
// memory.
absl::StatusOr<std::unique_ptr<Forward>> LoadCudaModel(Device& device, StreamId stream,
                                                       const ModelConfig& config, const Weights& weights,
                                                       const HeadWeights& beside,
                                                       const CudaModelOptions& options);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_MODEL_H_
