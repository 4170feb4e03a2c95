// What has been enqueued and not been done: the fake GPU does as late as CUDA allows, which is when somebody
// waits. So host code that refills a staging block or reads a result too early sees wrong bytes, as it would
// sometimes on a GPU.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_WORK_H_
#define TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_WORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "absl/container/inlined_vector.h"
#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

struct Work {
  std::string name;
  absl::InlinedVector<Buffer, 6> reads, writes;
  std::function<void()> run;
  ExecId exec{0};           // the graph that it is part of
  uint64_t host_bytes = 0;  // of the pinned memory that it reads, when it was enqueued
  bool reads_host = false;

  bool Touches(Buffer buffer) const;
};

// By stream, first in first out.
class FakeWork {
 public:
  void Add(StreamId stream, Work work) { queues_[stream].push_back(std::move(work)); }
  // Does the stream's work up to and with that of this number, as Added counts it.
  void RunThrough(StreamId stream, uint64_t number, const std::function<void(Work&)>& run);
  uint64_t Added(StreamId stream) const;  // all ever added
  bool Any(const std::function<bool(StreamId, const Work&)>& test) const;

 private:
  std::map<StreamId, std::deque<Work>> queues_;
  std::map<StreamId, uint64_t> done_;
};

// Tells whether bytes have changed.
uint64_t HashOf(Buffer buffer);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_WORK_H_
