#include "serve/gateway/dispatch.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::gateway {
namespace {

// A replica counts rows within a chunk, the client within the request.
absl::Status OfInput(const absl::Status& status, size_t input) {
  std::string message(status.message());
  if (const size_t colon = message.find(": "); message.starts_with("row ") && colon != std::string::npos)
    message.erase(0, colon + 2);
  return absl::Status(status.code(), absl::StrCat("input ", input, ": ", message));
}

}  // namespace

std::shared_ptr<Dispatch> Dispatch::Start(Replica& replica, std::vector<ReplicaRequest> chunks, Done done) {
  std::shared_ptr<Dispatch> dispatch(new Dispatch(replica, std::move(chunks), std::move(done)));
  dispatch->Proceed();
  return dispatch;
}

Dispatch::Dispatch(Replica& replica, std::vector<ReplicaRequest> chunks, Done done)
    : replica_(replica), parts_(chunks.size()), done_(std::move(done)) {
  size_t row = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    parts_[i].first_row = row;
    parts_[i].num_rows = chunks[i].rows.size();
    row += parts_[i].num_rows;
    parts_[i].request = std::move(chunks[i]);
  }
}

void Dispatch::Proceed() {
  std::unique_lock lock(mutex_);
  while (failure_.ok() && !queue_was_full_ && in_flight_ < kChunksAtOnce) {
    const auto next = std::find_if(parts_.begin(), parts_.end(),
                                   [](const Part& part) { return part.state == Part::State::kWaiting; });
    if (next == parts_.end()) break;
    next->state = Part::State::kSent;
    ++in_flight_;
    // One that is alone is never sent again.
    ReplicaRequest request = parts_.size() == 1 ? std::move(next->request) : next->request;
    const auto index = static_cast<size_t>(next - parts_.begin());
    request.done = [self = shared_from_this(), index](server::Reply reply) {
      self->Answered(index, std::move(reply));
    };
    lock.unlock();
    const server::Ticket ticket = replica_.Infer(std::move(request));
    lock.lock();
    parts_[index].ticket = ticket;
    if (!failure_.ok() && parts_[index].state == Part::State::kSent) {  // it missed the cancelling
      lock.unlock();
      replica_.Cancel(ticket);
      lock.lock();
    }
  }
  if (in_flight_ > 0 || !done_ || (failure_.ok() && completed_ < parts_.size())) return;
  const Done done = std::exchange(done_, nullptr);
  Outcome outcome{failure_, {}, timings_, std::move(hold_)};
  if (outcome.status.ok()) {
    for (Part& part : parts_) std::move(part.rows.begin(), part.rows.end(), std::back_inserter(outcome.rows));
  }
  lock.unlock();
  done(std::move(outcome));
}

absl::Status Dispatch::KeepRows(Part& part, server::Reply& reply) {
  if (!reply.status.ok()) return reply.status;
  if (reply.rows.size() != part.num_rows) {
    return absl::InternalError(
        absl::StrCat("the engine answered ", reply.rows.size(), " rows, expected ", part.num_rows));
  }
  for (size_t r = 0; r < reply.rows.size(); ++r) {
    if (!reply.rows[r].status.ok()) return OfInput(reply.rows[r].status, part.first_row + r);
  }
  part.rows = std::move(reply.rows);
  return absl::OkStatus();
}

std::vector<server::Ticket> Dispatch::FailLocked(const absl::Status& status) {
  std::vector<server::Ticket> sent;
  if (!failure_.ok()) return sent;
  failure_ = status;
  for (const Part& part : parts_) {
    if (part.state == Part::State::kSent) sent.push_back(part.ticket);
  }
  return sent;
}

void Dispatch::Answered(size_t index, server::Reply reply) {
  std::vector<server::Ticket> needless;
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    Part& part = parts_[index];
    const absl::Status status = KeepRows(part, reply);
    if (status.code() == absl::StatusCode::kResourceExhausted && in_flight_ > 0 && failure_.ok()) {
      part.state = Part::State::kWaiting;
      queue_was_full_ = true;
    } else {
      part.state = Part::State::kEnded;
      part.request = {};
      queue_was_full_ = false;
      if (status.ok()) {
        ++completed_;
        timings_.queue = std::max(timings_.queue, reply.timings.queue);
        timings_.forward = std::max(timings_.forward, reply.timings.forward);
        if (parts_.size() == 1) hold_ = std::move(reply.hold);
      } else {
        needless = FailLocked(status);
      }
    }
  }
  for (const server::Ticket ticket : needless) replica_.Cancel(ticket);
  Proceed();
}

void Dispatch::Cancel() {
  std::vector<server::Ticket> needless;
  {
    const std::lock_guard lock(mutex_);
    if (!done_) return;
    needless = FailLocked(absl::CancelledError("the client is gone"));
  }
  for (const server::Ticket ticket : needless) replica_.Cancel(ticket);
  Proceed();
}

}  // namespace trellis::gateway
