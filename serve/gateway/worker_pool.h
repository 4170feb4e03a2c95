// The threads that parse, tokenize and write answers, each with an encoder of its own. What is posted runs in
// order of its posting, one piece of work at a time on a thread; it must not block.
//
// The queue has no bound of its own: how many requests may be under way is decided before anything is posted.
#ifndef TRELLIS_SERVE_GATEWAY_WORKER_POOL_H_
#define TRELLIS_SERVE_GATEWAY_WORKER_POOL_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/gateway/row_encoder.h"

namespace trellis::gateway {

class WorkerPool {
 public:
  using Work = std::function<void(RowEncoder&)>;

  // `tokenizer` outlives the pool.
  WorkerPool(size_t threads, const Tokenizer& tokenizer, model::TypeIds type_ids);
  // Runs what is posted, then ends the threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;

  void Post(Work work);
  // At the end of the pool at once, whatever is left of `delay`.
  void PostAfter(std::chrono::milliseconds delay, Work work);
  size_t threads() const { return threads_.size(); }

 private:
  void Run(RowEncoder& encoder);
  void QueueWhatIsDueLocked();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<Work> queue_;  // guarded by mutex_
  std::multimap<std::chrono::steady_clock::time_point, Work> later_;  // guarded by mutex_
  bool ending_ = false;     // guarded by mutex_
  std::vector<std::unique_ptr<RowEncoder>> encoders_;
  std::vector<std::thread> threads_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_WORKER_POOL_H_
