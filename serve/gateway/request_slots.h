// How many requests are under way, with a bound, and a way to wait until there are none.
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
    return Taken::kYes;
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    if (--used_ == 0) none_.notify_all();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  // Whether all were given back within `limit`.
  bool WaitForNone(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return none_.wait_for(lock, limit, [this] { return used_ == 0; });
  }

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable none_;
  size_t used_ = 0;
  bool closed_ = false;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REQUEST_SLOTS_H_
