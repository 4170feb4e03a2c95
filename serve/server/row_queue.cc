#include "serve/server/row_queue.h"

#include <cassert>
#include <utility>

namespace trellis::server {

void RowQueue::Append(Ticket ticket, std::shared_ptr<const Request> request, Clock::time_point now) {
  const size_t rows = request->rows.size();
  const auto tokens = static_cast<int64_t>(request->ids.size());
  assert(Fits(request->priority, tokens) && rows > 0);
  const auto priority = static_cast<size_t>(request->priority);
  Entries& entries = entries_[priority];
  entries.push_back(Entry{ticket, std::move(request), now});
  by_ticket_.emplace(ticket, std::prev(entries.end()));
  class_rows_[priority] += rows;
  rows_ += rows;
  tokens_ += tokens;
}

void RowQueue::Remove(Ticket ticket) {
  const auto found = by_ticket_.find(ticket);
  if (found == by_ticket_.end()) return;
  const Entry& entry = *found->second;
  const Request& request = *entry.request;
  const Priority priority = request.priority;
  Count(priority, request.rows.size() - entry.next_row,
        int64_t{request.cu_seqlens.back()} - request.cu_seqlens[entry.next_row]);
  entries_[static_cast<size_t>(priority)].erase(found->second);
  by_ticket_.erase(found);
}

void RowQueue::Take(Priority priority, size_t count, std::vector<RowRef>& rows,
                    std::vector<std::shared_ptr<const Request>>& holds) {
  Entries& entries = entries_[static_cast<size_t>(priority)];
  while (count > 0) {
    Entry& entry = entries.front();
    const Request* request = entry.request.get();
    const size_t begin = entry.next_row;
    while (count > 0 && entry.next_row < request->rows.size()) {
      rows.push_back(RowRef{entry.ticket, request, entry.next_row++, entry.accepted});
      --count;
    }
    Count(priority, entry.next_row - begin,
          int64_t{request->cu_seqlens[entry.next_row]} - request->cu_seqlens[begin]);
    holds.push_back(entry.request);
    if (entry.next_row == request->rows.size()) {
      by_ticket_.erase(entry.ticket);
      entries.pop_front();
    }
  }
}

void RowQueue::Front(Priority priority, int64_t max_tokens, size_t max_rows,
                     std::vector<QueuedRow>& view) const {
  view.clear();
  int64_t tokens = 0;
  for (const Entry& entry : entries_[static_cast<size_t>(priority)]) {
    const Request& request = *entry.request;
    for (size_t row = entry.next_row; row < request.rows.size(); ++row) {
      if (tokens > max_tokens || view.size() >= max_rows) return;
      const int32_t row_tokens = request.cu_seqlens[row + 1] - request.cu_seqlens[row];
      view.push_back(QueuedRow{row_tokens, entry.accepted, request.deadline});
      tokens += row_tokens;
    }
  }
}

void RowQueue::Count(Priority priority, size_t rows, int64_t tokens) {
  class_rows_[static_cast<size_t>(priority)] -= rows;
  rows_ -= rows;
  tokens_ -= tokens;
}

}  // namespace trellis::server
