// How many requests are under way, with a bound, and a way to wait until there are none.
//
// Who has an answer may come again at once, and must find the place free; but only when the answer is handed
// over is nobody at work any more. So a place is freed first, and its holder is gone after.
#ifndef TRELLIS_SERVE_GATEWAY_REQUEST_SLOTS_H_
#define TRELLIS_SERVE_GATEWAY_REQUEST_SLOTS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace trellis::gateway {

class RequestSlots {
 public:
  explicit RequestSlots(size_t most) : most_(most) {}

  enum class Taken : uint8_t { kYes, kFull, kClosed };
  Taken Take() {
    const std::lock_guard lock(mutex_);
    if (closed_) return Taken::kClosed;
    if (used_ == most_) return Taken::kFull;
    ++used_;
    ++holders_;
    return Taken::kYes;
  }
  // Once for each that was taken, each of them, in this order.
  void Free() {
    const std::lock_guard lock(mutex_);
    --used_;
  }
  void Gone() {
    const std::lock_guard lock(mutex_);
    if (--holders_ == 0) none_.notify_all();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  // Whether all are gone within `limit`.
  bool WaitForNone(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return none_.wait_for(lock, limit, [this] { return holders_ == 0; });
  }

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable none_;
  size_t used_ = 0, holders_ = 0;
  bool closed_ = false;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REQUEST_SLOTS_H_
