// What a batch's rows ask for, made on the GPU of their last states and copied to pinned memory.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_HEADS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_HEADS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/checkpoint.h"
#include "serve/engine/cuda/answers.h"
#include "serve/engine/cuda/cuda_encoder.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/device_memory.h"
#include "serve/engine/cuda/forward.h"
#include "serve/engine/cuda/head_upload.h"
#include "serve/engine/cuda/kernels/kernels.h"
#include "serve/engine/cuda/staging.h"
#include "serve/engine/cuda/weight_upload.h"

namespace trellis::engine::cuda {

// On the device's thread, but for Read and DescribeRow.
class CudaHeads {
 public:
  static absl::StatusOr<std::unique_ptr<CudaHeads>> Load(Device& device, const ModelConfig& config,
                                                         const Weights& weights, const HeadWeights& beside,
                                                         const CudaModelOptions& options,
                                                         WeightUpload& upload, DeviceMemory& memory);

  void Describe(EngineLimits& limits) const;
  RowWork DescribeRow(const RowTask& task) const;
  size_t output_bytes() const { return layout_.bytes; }

  DeviceStatus Run(StreamId stream, const CudaEncoder& encoder, const StagingLayout& staging, Buffer block,
                   const PackedBatch& batch, Buffer pinned);
  std::vector<RowAnswer> Read(const PackedBatch& batch, std::span<const std::byte> pinned) const {
    return ReadAnswers(layout_, batch, pinned);
  }

 private:
  struct Step {  // what is the same for all kernels of a batch
    StreamId stream;
    const CudaEncoder& encoder;
    const StagingLayout& staging;
    Buffer block;
    const PackedBatch& batch;
    Buffer pinned;
  };

  CudaHeads(Device& device, const ModelConfig& config, HalfType type, HeadsOnGpu weights)
      : device_(device), config_(config), type_(type), weights_(std::move(weights)) {}
  absl::Status Allocate(const CudaModelOptions& options, DeviceMemory& memory);
  DeviceStatus Pool(const Step& step);
  DeviceStatus RunDense(const Step& step, const DenseOnGpu& dense, Buffer in, Buffer out);
  DeviceStatus Embed(const Step& step);
  DeviceStatus EmbedAll(const Step& step);
  DeviceStatus Classify(const Step& step);
  DeviceStatus Sparse(const Step& step);
  DeviceStatus CopyOut(const Step& step, size_t at, int32_t count, int32_t width);

  Device& device_;
  const ModelConfig config_;
  const HalfType type_;
  const HeadsOnGpu weights_;
  AnswerLayout layout_;
  Buffer pooled_, spare_, answers_, colbert_states_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_HEADS_H_
