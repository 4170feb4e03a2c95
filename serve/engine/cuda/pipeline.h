// A step from the packed batch to its result on the way back: pack, one copy, the kernels or their graph, the
// heads, one copy. Everything is enqueued and nothing waited for. All of it on the device's thread.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_PIPELINE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/cuda/forward.h"
#include "serve/engine/cuda/graph_cache.h"
#include "serve/engine/cuda/pinned_ring.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

struct PipelineOptions {
  int slots = 3;  // two batches on the GPU, and one whose result is being read
  GraphCacheOptions graphs;
};

class Pipeline {
 public:
  // `stream` is the one that all of the model's work goes to. Device and model outlive this.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(Device& device, StreamId stream, Forward& forward,
                                                          const PipelineOptions& options);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Nothing: all slots are taken.
  std::optional<LazyTensor> TakeSlot() { return ring_->Take(); }

  enum class How : uint8_t { kAsItComes, kEagerly };  // the latter is for measuring
  // OK: `slot` is sealed, and Poll says when the result is there. The batch has been read for the last time.
  // An error: nothing of it is on the GPU any more; Unavailable: the device is dead.
  absl::Status Begin(const PackedBatch& batch, LazyTensor& slot, How how = How::kAsItComes);
  GraphCache::Path last_path() const { return last_path_; }  // of what Begin enqueued

  GraphCache& graphs() { return *graphs_; }
  const Forward& forward() const { return forward_; }
  Device& device() { return device_; }
  StreamId stream() const { return stream_; }

 private:
  Pipeline(Device& device, StreamId stream, Forward& forward)
      : device_(device), stream_(stream), forward_(forward) {}
  absl::Status Allocate(const PipelineOptions& options);
  StagingLayout LayoutOf(Bucket bucket) const { return {bucket, forward_.row_bytes()}; }
  DeviceStatus Encode(Bucket bucket);
  DeviceStatus Enqueue(const PackedBatch& batch, LazyTensor& slot, How how, const char*& what);

  Device& device_;
  const StreamId stream_;
  Forward& forward_;
  Buffer block_;  // the GPU's staging block
  std::unique_ptr<PinnedRing> ring_;
  std::unique_ptr<GraphCache> graphs_;
  GraphCache::Path last_path_ = GraphCache::Path::kEager;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_PIPELINE_H_
