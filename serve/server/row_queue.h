// The one bounded queue: requests whose rows wait for a batch, first come first served within a class.
//
// Plain memory without a lock: it belongs to the Scheduler, which in turn is only touched under the
// Executor's mutex. So a row is in exactly one place, and what was cancelled is gone at once rather than
// marked: marks would pile up behind a slow engine, outside of the bound.
#ifndef TRELLIS_SERVE_SERVER_ROW_QUEUE_H_
#define TRELLIS_SERVE_SERVER_ROW_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "serve/server/batcher.h"
#include "serve/server/request.h"
#include "serve/server/server.h"

namespace trellis::server {

// A row of a request. Whoever holds one also holds the request.
struct RowRef {
  Ticket ticket = 0;
  const Request* request = nullptr;
  size_t row = 0;
  Clock::time_point accepted;

  int32_t tokens() const { return request->cu_seqlens[row + 1] - request->cu_seqlens[row]; }
};

class RowQueue {
 public:
  // Bulk rows are let in as long as all rows together stay within `max_bulk_tokens`, the smaller of the two.
  RowQueue(int64_t max_tokens, int64_t max_bulk_tokens) : max_tokens_{max_tokens, max_bulk_tokens} {}

  bool Fits(Priority priority, int64_t tokens) const {
    return tokens_ + tokens <= max_tokens_[static_cast<size_t>(priority)];
  }
  // All rows of a request at once; they must fit, and the ticket must be new.
  void Append(Ticket ticket, std::shared_ptr<const Request> request, Clock::time_point now);
  // The request's rows that are still here. Unknown tickets have none.
  void Remove(Ticket ticket);
  // Moves `count` rows from the front of a class to `rows`, and a hold on each of their requests to `holds`.
  void Take(Priority priority, size_t count, std::vector<RowRef>& rows,
            std::vector<std::shared_ptr<const Request>>& holds);

  // The front of a class, until it exceeds a batch of `max_tokens` or `max_rows`.
  void Front(Priority priority, int64_t max_tokens, size_t max_rows, std::vector<QueuedRow>& view) const;

  size_t rows() const { return rows_; }
  size_t rows(Priority priority) const { return class_rows_[static_cast<size_t>(priority)]; }
  int64_t tokens() const { return tokens_; }
  size_t requests() const { return by_ticket_.size(); }  // with rows here
  bool empty() const { return rows_ == 0; }

 private:
  struct Entry {
    Ticket ticket;
    std::shared_ptr<const Request> request;
    Clock::time_point accepted;
    size_t next_row = 0;
  };
  using Entries = std::list<Entry>;

  void Count(Priority priority, size_t rows, int64_t tokens);  // takes off

  Entries entries_[kPriorities];
  std::unordered_map<Ticket, Entries::iterator> by_ticket_;
  size_t class_rows_[kPriorities] = {};
  size_t rows_ = 0;
  int64_t tokens_ = 0;
  const int64_t max_tokens_[kPriorities];
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_ROW_QUEUE_H_
