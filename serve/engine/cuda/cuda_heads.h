// What a batch's rows ask for, made on the GPU of their last states and copied to pinned memory; and a row's
// values of that.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_HEADS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_HEADS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/heads.h"
#include "serve/engine/cuda/cuda_encoder.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/device_memory.h"
#include "serve/engine/cuda/forward.h"
#include "serve/engine/cuda/kernels/kernels.h"
#include "serve/engine/cuda/staging.h"
#include "serve/engine/cuda/weight_upload.h"

namespace trellis::engine::cuda {

// Which answers lie where, on the GPU and in pinned memory alike: each kind at a place of its own, as long as
// the largest batch makes it. All are floats.
struct AnswerLayout {
  int32_t embed_size = 0, token_size = 0, labels = 0;  // 0: the model has no such answers
  size_t vectors = 0;                                  // [rows][embed_size]
  size_t logits = 0;                                   // [rows][labels]
  size_t weights = 0;                                  // [tokens]
  size_t token_vectors = 0;                            // [tokens][token_size]
  size_t bytes = 0;
};

// On the device's thread, but for Read and DescribeRow.
class CudaHeads {
 public:
  static absl::StatusOr<std::unique_ptr<CudaHeads>> Load(Device& device, const ModelConfig& config,
                                                         const Weights& weights,
                                                         const cpu::HeadWeights& beside,
                                                         const CudaModelOptions& options,
                                                         WeightUpload& upload, DeviceMemory& memory);

  void Describe(EngineLimits& limits) const;
  RowWork DescribeRow(const RowTask& task) const;
  size_t output_bytes() const { return layout_.bytes; }

  DeviceStatus Run(StreamId stream, const CudaEncoder& encoder, const StagingLayout& staging, Buffer block,
                   const PackedBatch& batch, Buffer pinned);
  std::vector<RowAnswer> Read(const PackedBatch& batch, std::span<const std::byte> pinned) const;

 private:
  struct Dense {
    Buffer weight, bias;  // float; the bias may be missing
    int32_t in = 0, out = 0;
    DenseArgs::After after = DenseArgs::kIdentity;
  };
  struct Step {  // what is the same for all kernels of a batch
    StreamId stream;
    const CudaEncoder& encoder;
    const StagingLayout& staging;
    Buffer block;
    const PackedBatch& batch;
    Buffer pinned;
  };

  CudaHeads(Device& device, const ModelConfig& config, HalfType type)
      : device_(device), config_(config), type_(type) {}
  absl::Status ReadDense(const Weights& weights, const std::string& name, int32_t in, int32_t out,
                         WeightUpload& upload, Dense& to);
  absl::Status ReadAll(const Weights& weights, const cpu::HeadWeights& beside, WeightUpload& upload);
  absl::Status Allocate(const CudaModelOptions& options, DeviceMemory& memory);
  DeviceStatus Pool(const Step& step);
  DeviceStatus RunDense(const Step& step, const Dense& dense, Buffer in, Buffer out);
  DeviceStatus Embed(const Step& step);
  DeviceStatus EmbedAll(const Step& step);
  DeviceStatus Classify(const Step& step);
  DeviceStatus Sparse(const Step& step);
  DeviceStatus CopyOut(const Step& step, size_t at, int32_t count, int32_t width);

  Device& device_;
  const ModelConfig config_;
  const HalfType type_;
  std::vector<Dense> dense_, classifier_;  // one after another
  Dense sparse_;
  Buffer colbert_, colbert_bias_;  // 16 bits
  AnswerLayout layout_;
  Buffer pooled_, spare_, answers_, colbert_states_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_HEADS_H_
