// A graph for each bucket that comes more than once. A small batch's kernels take longer to launch than to
// run; a graph launches all of them at once.
//
// The first batch of a bucket runs kernel by kernel, which loads what is loaded on first use and must not be
// in a capture. The second is captured, and launched as a graph, like all that follow. Whatever goes wrong
// with a graph, the batch is then run kernel by kernel; only a dead device fails it.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_GRAPH_CACHE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_GRAPH_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "serve/engine/cuda/bucket.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/graph_counters.h"

namespace trellis::engine::cuda {

struct GraphCacheOptions {
  int64_t max_graphs = 64;
  size_t max_bytes = size_t{1} << 30;        // of graphs; the one used longest ago goes first
  size_t reserve_bytes = size_t{256} << 20;  // no graph is made while less GPU memory than this is free
  // Above it, the GPU takes longer than launching: batches run kernel by kernel (inflection.h).
  int32_t max_tokens = std::numeric_limits<int32_t>::max();
};

// On the device's thread, but for counters() and statistics().
class GraphCache {
 public:
  // Enqueues a bucket's kernels on the stream. What it enqueues depends on the bucket only: it is also what
  // is captured.
  using Forward = std::function<DeviceStatus(StreamId stream, Bucket bucket)>;

  enum class Path : uint8_t { kEager, kCaptured, kReplayed, kEagerAfterFailure };
  struct Outcome {
    DeviceStatus status = DeviceStatus::kOk;
    Path path = Path::kEager;
  };

  // The bucket of a graph that failed is left alone for so many batches, then for longer, then for good.
  static constexpr int64_t kBackOff[] = {32, 64, 128};

  GraphCache(Device& device, StreamId stream, const GraphCacheOptions& options, Forward forward);
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  Outcome Run(Bucket bucket);
  // Without a graph whatever the bucket, for measuring; not counted.
  Outcome RunEagerly(Bucket bucket) { return {forward_(stream_, bucket), Path::kEager}; }

  void set_max_tokens(int32_t tokens);
  int32_t max_tokens() const { return options_.max_tokens; }
  GraphCounters counters() const { return statistics_->Read(); }
  std::shared_ptr<const GraphStatistics> statistics() const { return statistics_; }

 private:
  struct Entry {
    int64_t last_used = 0;
    bool seen = false;
    bool has_graph = false;
    ExecId exec{};
    size_t bytes = 0;
    size_t failures = 0;
    int64_t retry_at = 0;
  };

  Outcome RunInsteadOfGraph(Bucket bucket, Path path);
  bool MayCapture(const Entry& entry);
  DeviceStatus Capture(Bucket bucket, Entry& entry);
  DeviceStatus InstantiateWithRoom(GraphId graph, ExecId* exec);
  DeviceStatus Launch(Bucket bucket, Entry& entry);
  void Fail(Entry& entry);
  void Drop(Entry& entry);
  bool EvictOne(const Entry* but);
  void MakeRoom(const Entry* but);

  Device& device_;
  const StreamId stream_;
  GraphCacheOptions options_;
  const Forward forward_;
  std::map<Bucket, Entry> entries_;
  int64_t batches_ = 0;
  const std::shared_ptr<GraphStatistics> statistics_ = std::make_shared<GraphStatistics>();
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_GRAPH_CACHE_H_
