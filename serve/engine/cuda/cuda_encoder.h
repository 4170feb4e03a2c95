// The layers of a model on the GPU: from the staging block to each token's last state. What it enqueues
// depends on the bucket alone, so that it can be captured.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_ENCODER_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_ENCODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/device_memory.h"
#include "serve/engine/cuda/kernels/attention_backends.h"
#include "serve/engine/cuda/staging.h"
#include "serve/engine/cuda/weight_upload.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cuda {

struct CudaModelOptions {
  HalfType type = HalfType::kBf16;
  int32_t max_batch_tokens = 16384;
  int32_t max_batch_rows = 2048;
  std::string attention;  // a backend's name; empty: the first that can
};

// On the device's thread.
class CudaEncoder {
 public:
  // Unimplemented: sizes that the kernels do not take, by name.
  static absl::StatusOr<std::unique_ptr<CudaEncoder>> Load(Device& device, const ModelConfig& config,
                                                           const Weights& weights,
                                                           const CudaModelOptions& options,
                                                           WeightUpload& upload, DeviceMemory& memory);

  DeviceStatus Run(StreamId stream, const StagingLayout& layout, Buffer block);

  // [tokens of the bucket][hidden], in 16 bits.
  Buffer states() const { return states_; }
  // For products beside the layers', on the same stream.
  Buffer workspace() const { return workspace_; }

 private:
  struct Norm {
    Buffer gamma, beta;
  };
  struct Layer {
    Buffer qkv, qkv_bias, mix, mix_bias, up, up_bias, down, down_bias;
    Norm mix_norm, down_norm;
  };

  CudaEncoder(Device& device, const ModelConfig& config, HalfType type, const AttentionBackend& attention)
      : device_(device), config_(config), type_(type), attention_(attention) {}
  absl::Status ReadEmbeddings(const Weights& weights, WeightUpload& upload);
  absl::Status ReadNorm(const Weights& weights, const std::string& name, WeightUpload& upload, Norm& norm);
  absl::Status ReadLayer(const Weights& weights, const std::string& name, WeightUpload& upload);
  absl::Status AllocateArena(int32_t tokens, DeviceMemory& memory);
  DeviceStatus Embed(StreamId stream, const StagingLayout& layout, Buffer block);
  DeviceStatus Product(StreamId stream, int32_t tokens, Buffer in, int32_t k, Buffer weight, Buffer bias,
                       int32_t n, Buffer out);
  DeviceStatus Attend(StreamId stream, const StagingLayout& layout, Buffer block);
  DeviceStatus AddNorm(StreamId stream, int32_t tokens, const Norm& norm);
  DeviceStatus Activate(StreamId stream, int32_t tokens);
  Buffer Of(Buffer all, int32_t tokens, int32_t width) const;

  Device& device_;
  const ModelConfig config_;
  const HalfType type_;
  const AttentionBackend& attention_;
  Buffer words_, positions_, types_;
  Norm embed_norm_;
  std::vector<Layer> layers_;
  // The arena: written anew by each batch, all of them on one stream.
  Buffer states_, branch_, qkv_, mixed_, wide_, workspace_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_ENCODER_H_
