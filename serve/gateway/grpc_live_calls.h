// The calls of a listener that have not ended yet: to end streams that would last, and to wait until the last
// answer is delivered.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_LIVE_CALLS_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_LIVE_CALLS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <unordered_set>

namespace trellis::gateway {

// A stream is not over when its last answer is: somebody has to say so.
class LastingCall {
 public:
  virtual ~LastingCall() = default;
  // Takes no new messages, answers those it has, and ends. Must not block; may be called twice.
  virtual void Close() = 0;
};

class LiveCalls {
 public:
  void Begin() {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  void End() {
    const std::lock_guard lock(mutex_);
    if (--calls_ == 0) none_.notify_all();
  }
  // Beside Begin and End, of a call that lasts. Begin: whether it may.
  bool BeginLasting(LastingCall* call) {
    const std::lock_guard lock(mutex_);
    if (!closed_) lasting_.insert(call);
    return !closed_;
  }
  void EndLasting(LastingCall* call) {
    const std::lock_guard lock(mutex_);
    lasting_.erase(call);
  }

  void CloseLasting() {
    const std::lock_guard lock(mutex_);  // none of them is gone while it is in here
    closed_ = true;
    for (LastingCall* call : lasting_) call->Close();
  }
  // How many are left after `limit`.
  size_t WaitForNone(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    none_.wait_for(lock, limit, [this] { return calls_ == 0; });
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  size_t calls_ = 0;
  bool closed_ = false;
  std::unordered_set<LastingCall*> lasting_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_LIVE_CALLS_H_
