#include "serve/gateway/worker_pool.h"

#include <utility>

namespace trellis::gateway {

WorkerPool::WorkerPool(size_t threads, const Tokenizer& tokenizer, model::TypeIds type_ids) {
  for (size_t i = 0; i < threads; ++i) {
    encoders_.push_back(std::make_unique<RowEncoder>(tokenizer, type_ids));
    threads_.emplace_back([this, &encoder = *encoders_.back()] { Run(encoder); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  posted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Post(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  posted_.notify_one();
}

void WorkerPool::PostAfter(std::chrono::milliseconds delay, Work work) {
  {
    const std::lock_guard lock(mutex_);
    later_.emplace(std::chrono::steady_clock::now() + delay, std::move(work));
  }
  posted_.notify_one();  // who waits, waits too long now
}

void WorkerPool::QueueWhatIsDueLocked() {
  while (!later_.empty() && (ending_ || later_.begin()->first <= std::chrono::steady_clock::now())) {
    queue_.push_back(std::move(later_.begin()->second));
    later_.erase(later_.begin());
  }
}

void WorkerPool::Run(RowEncoder& encoder) {
  std::unique_lock lock(mutex_);
  while (true) {
    QueueWhatIsDueLocked();
    if (queue_.empty()) {
      if (ending_) return;
      if (later_.empty()) {
        posted_.wait(lock);
      } else {
        const auto next = later_.begin()->first;  // a copy: another worker may take it meanwhile
        posted_.wait_until(lock, next);
      }
      continue;
    }
    {
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work(encoder);
    }  // what it holds goes without the lock
    lock.lock();
  }
}

}  // namespace trellis::gateway
