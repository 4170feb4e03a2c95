// Counts what the server reports, for tests. Thread-safe.
#ifndef TRELLIS_TESTS_SERVE_SERVER_COUNTING_OBSERVER_H_
#define TRELLIS_TESTS_SERVE_SERVER_COUNTING_OBSERVER_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "serve/server/observer.h"

namespace trellis::server {

class CountingObserver : public Observer {
 public:
  struct Counts {
    size_t accepted_requests = 0, accepted_rows = 0, accepted_tokens = 0;
    std::map<Refusal, size_t> refused;
    size_t queued_rows = 0, queued_tokens = 0, in_flight_rows = 0;  // the last levels
    size_t dequeued = 0, batches_started = 0, batches_done = 0, retried_rows = 0;
    size_t undelivered_requests = 0, undelivered_bytes = 0;  // the last levels
    size_t started_rows = 0, started_tokens = 0;
    std::map<absl::StatusCode, size_t> batches, rows, requests;

    size_t rows_done() const { return Sum(rows); }
    size_t requests_done() const { return Sum(requests); }
    static size_t Sum(const std::map<absl::StatusCode, size_t>& by_code) {
      size_t sum = 0;
      for (const auto& [code, count] : by_code) sum += count;
      return sum;
    }
  };
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

  void Accepted(size_t rows, size_t tokens) override {
    const std::lock_guard lock(mutex_);
    ++counts_.accepted_requests;
    counts_.accepted_rows += rows;
    counts_.accepted_tokens += tokens;
  }
  void Refused(Refusal reason) override {
    const std::lock_guard lock(mutex_);
    ++counts_.refused[reason];
  }
  void Levels(size_t queued_rows, size_t queued_tokens, size_t in_flight_rows) override {
    const std::lock_guard lock(mutex_);
    counts_.queued_rows = queued_rows;
    counts_.queued_tokens = queued_tokens;
    counts_.in_flight_rows = in_flight_rows;
  }
  void RowDequeued(std::chrono::nanoseconds) override {
    const std::lock_guard lock(mutex_);
    ++counts_.dequeued;
  }
  void BatchStarted(size_t rows, size_t tokens) override {
    const std::lock_guard lock(mutex_);
    ++counts_.batches_started;
    counts_.started_rows += rows;
    counts_.started_tokens += tokens;
  }
  void BatchDone(std::chrono::nanoseconds, absl::StatusCode status) override {
    const std::lock_guard lock(mutex_);
    ++counts_.batches_done;
    ++counts_.batches[status];
  }
  void BatchRetriedByRow(size_t rows) override {
    const std::lock_guard lock(mutex_);
    counts_.retried_rows += rows;
  }
  void RowDone(engine::Task, absl::StatusCode status) override {
    const std::lock_guard lock(mutex_);
    ++counts_.rows[status];
  }
  void Undelivered(size_t requests, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    counts_.undelivered_requests = requests;
    counts_.undelivered_bytes = bytes;
  }
  void RequestDone(absl::StatusCode status, std::chrono::nanoseconds) override {
    const std::lock_guard lock(mutex_);
    ++counts_.requests[status];
  }

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_SERVER_COUNTING_OBSERVER_H_
