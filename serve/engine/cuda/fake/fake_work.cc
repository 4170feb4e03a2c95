#include "serve/engine/cuda/fake/fake_work.h"

#include <utility>

#include "serve/engine/cuda/fake/fake_memory.h"

namespace trellis::engine::cuda {

bool Work::Touches(Buffer buffer) const {
  for (const auto* list : {&reads, &writes}) {
    for (const Buffer& one : *list) {
      if (Overlap(one, buffer)) return true;
    }
  }
  return false;
}

void FakeWork::RunThrough(StreamId stream, uint64_t number, const std::function<void(Work&)>& run) {
  std::deque<Work>& queue = queues_[stream];
  for (uint64_t& done = done_[stream]; done < number && !queue.empty(); ++done) {
    Work work = std::move(queue.front());
    queue.pop_front();
    run(work);
  }
}

uint64_t FakeWork::Added(StreamId stream) const {
  const auto queue = queues_.find(stream);
  const auto done = done_.find(stream);
  return (queue == queues_.end() ? 0 : queue->second.size()) + (done == done_.end() ? 0 : done->second);
}

bool FakeWork::Any(const std::function<bool(StreamId, const Work&)>& test) const {
  for (const auto& [stream, queue] : queues_) {
    for (const Work& work : queue) {
      if (test(stream, work)) return true;
    }
  }
  return false;
}

uint64_t HashOf(Buffer buffer) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (size_t i = 0; i < buffer.size; ++i)
    hash = (hash ^ static_cast<uint64_t>(buffer.data[i])) * 0x100000001b3u;
  return hash;
}

}  // namespace trellis::engine::cuda
