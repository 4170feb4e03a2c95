// How many requests are under way, with a bound, ways to wait for a place, and one to wait until there are
// none.
//
// Who has an answer may come again at once, and must find the place free; but only when the answer is handed
// over is nobody at work any more. So a place is freed first, and its holder is gone after.
#ifndef TRELLIS_SERVE_GATEWAY_REQUEST_SLOTS_H_
#define TRELLIS_SERVE_GATEWAY_REQUEST_SLOTS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace trellis::gateway {

class RequestSlots {
 public:
  // Who waits keeps a message meanwhile, so that is bounded too.
  static constexpr size_t kMostWaiting = 8192;

  explicit RequestSlots(size_t most) : most_(most) {}

  enum class Taken : uint8_t { kYes, kFull, kClosed };
  Taken Take();
  // Once for each place that was had, each of them, in this order. Who waits gets a free place before anybody
  // who would take it.
  void Free();
  void Gone();
  // Both, for a holder that owes no answer.
  void Release() {
    Free();
    Gone();
  }

  // Calls `ready` once, unless StopWaiting comes before: with kYes when it has a place, in order of asking;
  // kClosed when it gets none any more; kFull when too many wait already. Before this returns, or later on
  // the thread of whoever frees or closes; it must not block.
  using Ready = std::function<void(Taken)>;
  using Waiting = uint64_t;
  Waiting WaitForPlace(Ready ready);
  // Whether `ready` will not be called.
  bool StopWaiting(Waiting waiting);

  // Nobody gets a place from now on.
  void Close();
  bool closed() const;
  // Whether all are gone within `limit`.
  bool WaitForNone(std::chrono::milliseconds limit);

 private:
  const size_t most_;
  mutable std::mutex mutex_;  // guards what follows; not held while a Ready runs
  std::condition_variable none_;
  size_t used_ = 0, holders_ = 0;
  bool closed_ = false;
  Waiting last_ = 0;
  std::map<Waiting, Ready> waiting_;  // in order of asking; empty while a place is free
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REQUEST_SLOTS_H_
