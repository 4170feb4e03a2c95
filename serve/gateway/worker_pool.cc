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

void WorkerPool::Run(RowEncoder& encoder) {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
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
