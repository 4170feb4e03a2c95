// The heads' weights on the GPU: of the checkpoint itself, and of the files beside it.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_HEAD_UPLOAD_H_
#define TRELLIS_SERVE_ENGINE_CUDA_HEAD_UPLOAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/checkpoint.h"
#include "serve/engine/cuda/buffer.h"
#include "serve/engine/cuda/kernels/kernels.h"
#include "serve/engine/cuda/weight_upload.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cuda {

struct DenseOnGpu {
  Buffer weight, bias;  // float; a dense layer may have no bias
  int32_t in = 0, out = 0;
  DenseArgs::After after = DenseArgs::kIdentity;
};

// What the model does not have is empty.
struct HeadsOnGpu {
  std::vector<DenseOnGpu> dense, classifier;  // one after another
  DenseOnGpu sparse;
  Buffer colbert, colbert_bias;  // 16 bits

  // The length of a pooled vector behind the dense layers.
  int32_t embed_size(int32_t hidden) const { return dense.empty() ? hidden : dense.back().out; }
};

// On the device's thread. An error names the tensor, or the layer that does not fit the one before.
absl::StatusOr<HeadsOnGpu> UploadHeads(const ModelConfig& config, const Weights& weights,
                                       const HeadWeights& beside, WeightUpload& upload);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_HEAD_UPLOAD_H_
