#include "serve/gateway/request_slots.h"

#include <utility>

namespace trellis::gateway {

RequestSlots::Taken RequestSlots::Take() {
  const std::lock_guard lock(mutex_);
  if (closed_) return Taken::kClosed;
  if (used_ >= most_) return Taken::kFull;
  ++used_;
  ++holders_;
  return Taken::kYes;
}

void RequestSlots::Free() {
  Ready next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      --used_;
      return;
    }
    ++holders_;
    next = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
  }
  next(Taken::kYes);  // the place goes from hand to hand
}

void RequestSlots::Gone() {
  const std::lock_guard lock(mutex_);
  if (--holders_ == 0) none_.notify_all();
}

RequestSlots::Waiting RequestSlots::WaitForPlace(Ready ready) {
  Taken taken = Taken::kYes;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      taken = Taken::kClosed;
    } else if (used_ < most_) {
      ++used_;
      ++holders_;
    } else if (waiting_.size() >= kMostWaiting) {
      taken = Taken::kFull;
    } else {
      waiting_.emplace(++last_, std::move(ready));
      return last_;
    }
  }
  ready(taken);
  return 0;
}

bool RequestSlots::StopWaiting(Waiting waiting) {
  Ready needless;  // goes without the lock
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(waiting);
  if (found == waiting_.end()) return false;
  needless = std::move(found->second);
  waiting_.erase(found);
  return true;
}

void RequestSlots::Close() {
  std::map<Waiting, Ready> waiting;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting.swap(waiting_);
  }
  for (const auto& [number, ready] : waiting) ready(Taken::kClosed);
}

bool RequestSlots::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool RequestSlots::WaitForNone(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return none_.wait_for(lock, limit, [this] { return holders_ == 0; });
}

}  // namespace trellis::gateway
