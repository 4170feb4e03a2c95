#include "serve/engine/cuda/pipeline.h"

#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/device_error.h"
#include "serve/engine/cuda/staging.h"

namespace trellis::engine::cuda {

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(Device& device, StreamId stream, Forward& forward,
                                                           const PipelineOptions& options) {
  auto pipeline = std::unique_ptr<Pipeline>(new Pipeline(device, stream, forward));
  if (auto status = pipeline->Allocate(options); !status.ok()) return status;
  return pipeline;
}

absl::Status Pipeline::Allocate(const PipelineOptions& options) {
  const EngineLimits& limits = forward_.limits();
  const size_t input_bytes = LayoutOf(BucketOf(limits.max_batch_rows, limits.max_batch_tokens)).bytes();
  auto status = DeviceError(device_.Allocate(input_bytes, &block_), "the staging block", input_bytes);
  if (!status.ok()) return status;
  auto ring = PinnedRing::Create(device_, options.slots, input_bytes, forward_.output_bytes());
  if (!ring.ok()) return ring.status();
  ring_ = *std::move(ring);
  graphs_ = std::make_unique<GraphCache>(device_, stream_, options.graphs,
                                         [this](StreamId, Bucket bucket) { return Encode(bucket); });
  return absl::OkStatus();
}

Pipeline::~Pipeline() {
  (void)device_.Synchronize(stream_);
  graphs_.reset();
  ring_.reset();
  if (block_.data != nullptr) (void)device_.Free(block_);
}

DeviceStatus Pipeline::Encode(Bucket bucket) {
  try {
    return forward_.Encode(stream_, LayoutOf(bucket), block_);
  } catch (const std::bad_alloc&) {  // perhaps in a capture, which has to be ended
    return DeviceStatus::kOutOfMemory;
  }
}

DeviceStatus Pipeline::Enqueue(const PackedBatch& batch, LazyTensor& slot, How how, const char*& what) {
  const StagingLayout layout =
      LayoutOf(BucketOf(static_cast<int32_t>(batch.num_rows()), static_cast<int32_t>(batch.num_tokens())));
  const Buffer input = slot.input().Part(0, layout.bytes());
  PackBatch(batch, forward_.config(), layout, input);
  for (size_t row = 0; row < batch.num_rows(); ++row) {
    forward_.DescribeRow(batch.rows[row], layout.rows(input).data + row * forward_.row_bytes());
  }

  slot.SetOut();
  what = "the copy to the GPU";
  DeviceStatus status = device_.EnqueueCopy(stream_, block_.Part(0, layout.bytes()), input);
  if (status != DeviceStatus::kOk) return status;
  what = "the encoder";
  const GraphCache::Outcome outcome =
      how == How::kEagerly ? graphs_->RunEagerly(layout.bucket()) : graphs_->Run(layout.bucket());
  last_path_ = outcome.path;
  status = outcome.status;
  if (status != DeviceStatus::kOk) return status;
  what = "the heads";
  status = forward_.Answer(stream_, layout, block_, batch, slot.output());
  if (status != DeviceStatus::kOk) return status;
  what = "the event behind a batch";
  return slot.Seal(stream_);
}

absl::Status Pipeline::Begin(const PackedBatch& batch, LazyTensor& slot, How how) {
  const char* what = "";
  DeviceStatus status;
  try {
    status = Enqueue(batch, slot, how, what);
  } catch (const std::bad_alloc&) {
    status = DeviceStatus::kOutOfMemory;
  }
  if (status == DeviceStatus::kOk) return absl::OkStatus();
  auto error = DeviceError(
      status, absl::StrCat(what, " of ", batch.num_rows(), " rows and ", batch.num_tokens(), " tokens"));
  if (IsFatal(status)) return error;
  // What was enqueued before still reads and writes the slot.
  status = device_.Synchronize(stream_);
  if (status != DeviceStatus::kOk) {
    // Nobody knows when, or whether: as good as dead.
    return absl::UnavailableError(
        absl::StrCat(std::string(error.message()), "; then waiting for it: ", NameOf(status)));
  }
  slot.GiveUp();
  return error;
}

}  // namespace trellis::engine::cuda
