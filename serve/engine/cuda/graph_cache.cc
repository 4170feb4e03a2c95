#include "serve/engine/cuda/graph_cache.h"

#include <iterator>
#include <utility>

namespace trellis::engine::cuda {

GraphCache::GraphCache(Device& device, StreamId stream, const GraphCacheOptions& options, Forward forward)
    : device_(device), stream_(stream), options_(options), forward_(std::move(forward)) {
  set_max_tokens(options.max_tokens);
}

GraphCache::~GraphCache() {
  for (auto& [bucket, entry] : entries_) Drop(entry);
}

void GraphCache::set_max_tokens(int32_t tokens) {
  options_.max_tokens = tokens;
  statistics_->Count([tokens](GraphCounters& counters) { counters.max_tokens = tokens; });
}

GraphCache::Outcome GraphCache::Run(Bucket bucket) {
  ++batches_;
  if (bucket.tokens > options_.max_tokens) return RunInsteadOfGraph(bucket, Path::kEager);
  Entry& entry = entries_[bucket];
  entry.last_used = batches_;
  if (!entry.has_graph && (!entry.seen || !MayCapture(entry))) {
    const Outcome outcome = RunInsteadOfGraph(bucket, Path::kEager);
    // Only a batch that ran has loaded all that it takes.
    if (outcome.status == DeviceStatus::kOk) entry.seen = true;
    return outcome;
  }

  const Path path = entry.has_graph ? Path::kReplayed : Path::kCaptured;
  DeviceStatus status = entry.has_graph ? DeviceStatus::kOk : Capture(bucket, entry);
  if (status == DeviceStatus::kOk) status = Launch(bucket, entry);
  if (status == DeviceStatus::kOk || IsFatal(status)) return {status, path};
  Fail(entry);
  return RunInsteadOfGraph(bucket, Path::kEagerAfterFailure);
}

GraphCache::Outcome GraphCache::RunInsteadOfGraph(Bucket bucket, Path path) {
  statistics_->Count([](GraphCounters& counters) { ++counters.eager; });
  return {forward_(stream_, bucket), path};
}

bool GraphCache::MayCapture(const Entry& entry) {
  return entry.failures <= std::size(kBackOff) && batches_ >= entry.retry_at && options_.max_graphs > 0 &&
         device_.FreeBytes() >= options_.reserve_bytes;
}

DeviceStatus GraphCache::Capture(Bucket bucket, Entry& entry) {
  while (counters().graphs >= options_.max_graphs && EvictOne(&entry)) {
  }
  if (const auto status = device_.BeginCapture(stream_); status != DeviceStatus::kOk) return status;
  const DeviceStatus forward = forward_(stream_, bucket);
  GraphId graph{};
  const DeviceStatus end =
      device_.EndCapture(stream_, &graph);  // whatever forward said, or the stream would stay so
  if (end != DeviceStatus::kOk) return IsFatal(forward) ? forward : end;
  ExecId exec{};
  const DeviceStatus status = forward == DeviceStatus::kOk ? InstantiateWithRoom(graph, &exec) : forward;
  device_.DestroyGraph(graph);
  if (status != DeviceStatus::kOk) return status;
  entry.exec = exec;
  entry.has_graph = true;
  entry.bytes = device_.ExecBytes(exec);
  statistics_->Count([&](GraphCounters& counters) {
    ++counters.captures;
    ++counters.graphs;
    counters.bytes += entry.bytes;
  });
  MakeRoom(&entry);
  if (entry.bytes <= options_.max_bytes) return DeviceStatus::kOk;
  Drop(entry);  // by itself more than all may take
  return DeviceStatus::kOutOfMemory;
}

DeviceStatus GraphCache::InstantiateWithRoom(GraphId graph, ExecId* exec) {
  const DeviceStatus status = device_.Instantiate(graph, exec);
  if (status != DeviceStatus::kOutOfMemory || !EvictOne(nullptr)) return status;
  return device_.Instantiate(graph, exec);
}

DeviceStatus GraphCache::Launch(Bucket bucket, Entry& entry) {
  const DeviceStatus status = device_.EnqueueGraph(stream_, entry.exec);
  if (status != DeviceStatus::kOk) return status;
  statistics_->Count([bucket](GraphCounters& counters) {
    ++counters.replays;
    ++counters.replays_by_bucket[bucket];
  });
  return status;
}

void GraphCache::Fail(Entry& entry) {
  Drop(entry);
  if (entry.failures < std::size(kBackOff)) entry.retry_at = batches_ + kBackOff[entry.failures];
  ++entry.failures;
  statistics_->Count([](GraphCounters& counters) { ++counters.failures; });
}

void GraphCache::Drop(Entry& entry) {
  if (!entry.has_graph) return;
  device_.DestroyExec(entry.exec);
  entry.has_graph = false;
  statistics_->Count([&entry](GraphCounters& counters) {
    --counters.graphs;
    counters.bytes -= entry.bytes;
  });
}

bool GraphCache::EvictOne(const Entry* but) {
  Entry* oldest = nullptr;
  for (auto& [bucket, entry] : entries_) {
    if (!entry.has_graph || &entry == but) continue;
    if (oldest == nullptr || entry.last_used < oldest->last_used) oldest = &entry;
  }
  if (oldest == nullptr) return false;
  Drop(*oldest);
  statistics_->Count([](GraphCounters& counters) { ++counters.evictions; });
  return true;
}

void GraphCache::MakeRoom(const Entry* but) {
  while (counters().bytes > options_.max_bytes && EvictOne(but)) {
  }
}

}  // namespace trellis::engine::cuda
