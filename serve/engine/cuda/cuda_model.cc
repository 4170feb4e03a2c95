#include "serve/engine/cuda/cuda_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "serve/engine/cuda/cuda_heads.h"
#include "serve/engine/cuda/device_memory.h"
#include "serve/engine/cuda/weight_upload.h"

namespace trellis::engine::cuda {
namespace {

class CudaModel : public Forward {
 public:
  CudaModel(Device& device, const ModelConfig& config) : config_(config), memory_(device) {}

  absl::Status Load(Device& device, StreamId stream, const Weights& weights, const HeadWeights& beside,
                    CudaModelOptions options) {
    options.max_batch_tokens = std::max(options.max_batch_tokens, config_.max_row_tokens);
    WeightUpload upload(device, stream, options.type, memory_);
    auto encoder = CudaEncoder::Load(device, config_, weights, options, upload, memory_);
    if (!encoder.ok()) return encoder.status();
    encoder_ = *std::move(encoder);
    auto heads = CudaHeads::Load(device, config_, weights, beside, options, upload, memory_);
    if (!heads.ok()) return heads.status();
    heads_ = *std::move(heads);
    limits_.max_row_tokens = config_.max_row_tokens;
    limits_.max_batch_tokens = options.max_batch_tokens;
    limits_.max_batch_rows = options.max_batch_rows;
    limits_.max_in_flight = 2;
    limits_.vocab_size = config_.vocab_size;
    limits_.type_vocab_size = config_.type_vocab_size;
    limits_.model = config_.name;
    heads_->Describe(limits_);
    return absl::OkStatus();
  }

  const ModelConfig& config() const override { return config_; }
  const EngineLimits& limits() const override { return limits_; }
  size_t row_bytes() const override { return sizeof(RowWork); }
  size_t output_bytes() const override { return heads_->output_bytes(); }
  void DescribeRow(const RowTask& task, std::byte* out) const override {
    const RowWork work = heads_->DescribeRow(task);
    std::memcpy(out, &work, sizeof work);
  }
  DeviceStatus Encode(StreamId stream, const StagingLayout& layout, Buffer block) override {
    return encoder_->Run(stream, layout, block);
  }
  DeviceStatus Answer(StreamId stream, const StagingLayout& layout, Buffer block, const PackedBatch& batch,
                      Buffer pinned) override {
    return heads_->Run(stream, *encoder_, layout, block, batch, pinned);
  }
  std::vector<RowAnswer> Read(const PackedBatch& batch, std::span<const std::byte> pinned) const override {
    return heads_->Read(batch, pinned);
  }

 private:
  const ModelConfig config_;
  EngineLimits limits_;
  DeviceMemory memory_;
  std::unique_ptr<CudaEncoder> encoder_;
  std::unique_ptr<CudaHeads> heads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Forward>> LoadCudaModel(Device& device, StreamId stream,
                                                       const ModelConfig& config, const Weights& weights,
                                                       const HeadWeights& beside,
                                                       const CudaModelOptions& options) {
  auto model = std::make_unique<CudaModel>(device, config);
  if (auto status = model->Load(device, stream, weights, beside, options); !status.ok()) return status;
  return model;
}

}  // namespace trellis::engine::cuda
