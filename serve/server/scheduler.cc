#include "serve/server/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/server/answer_bytes.h"

namespace trellis::server {

Scheduler::Scheduler(const SchedulerOptions& options, Observer* observer)
    : options_(options),
      observer_(observer),
      queue_(options.max_queued_tokens, options.max_queued_tokens_bulk) {}

// --- requests come ---

absl::StatusOr<Ticket> Scheduler::Accept(Request&& request, Clock::time_point now, int64_t answer_bytes,
                                         const Held& undelivered) {
  const auto tokens = static_cast<int64_t>(request.ids.size());
  const size_t rows = request.rows.size();
  if (health_ == Health::kDead) {
    return Refuse(Observer::Refusal::kDead,
                  absl::UnavailableError(absl::StrCat("the engine is dead: ", death_)));
  }
  if (health_ == Health::kDraining) {
    return Refuse(Observer::Refusal::kDraining, absl::UnavailableError("the server is shutting down"));
  }
  if (request.deadline <= now) {
    return Refuse(Observer::Refusal::kDeadline,
                  absl::DeadlineExceededError("deadline: passed before the request came"));
  }
  if (!queue_.Fits(request.priority, tokens)) {
    return Refuse(Observer::Refusal::kQueueFull,
                  absl::ResourceExhaustedError(absl::StrCat("queue full: ", queue_.tokens(), " tokens wait, ",
                                                            tokens, " more would exceed ",
                                                            options_.max_queued(request.priority))));
  }
  if (const auto most = options_.max_requests(request.priority);
      static_cast<int64_t>(queue_.requests()) >= most) {
    return Refuse(Observer::Refusal::kTooManyRequests,
                  absl::ResourceExhaustedError(absl::StrCat("queue full: ", queue_.requests(),
                                                            " requests wait, at most ", most, " may")));
  }
  const Held held{1, tokens, answer_bytes};
  if (auto status = CheckHeld(held, undelivered); !status.ok()) return status;

  const Ticket ticket = ++last_ticket_;
  Pending pending;
  pending.done = std::move(request.done);
  pending.accepted = now;
  pending.replies.resize(rows);
  pending.row_done.resize(rows);
  pending.rows_left = rows;
  pending.held = held;
  pending.request = std::make_shared<const Request>(std::move(request));
  if (pending.request->deadline != Clock::time_point::max())
    deadlines_.emplace(pending.request->deadline, ticket);
  queue_.Append(ticket, pending.request, now);
  pending_.emplace(ticket, std::move(pending));
  held_ += held;
  observer_->Accepted(rows, static_cast<size_t>(tokens));
  ReportLevels();
  return ticket;
}

absl::Status Scheduler::Refuse(Observer::Refusal reason, absl::Status status) {
  observer_->Refused(reason);
  return status;
}

absl::Status Scheduler::CheckHeld(const Held& more, const Held& undelivered) {
  const auto check = [&](int64_t Held::*amount, int64_t most, const char* what) {
    const int64_t held = held_.*amount + undelivered.*amount;
    if (held + more.*amount <= most) return absl::OkStatus();
    return Refuse(Observer::Refusal::kUndelivered, absl::ResourceExhaustedError(absl::StrCat(
                                                       "too much is not yet answered and delivered: ", held,
                                                       what, more.*amount, " more would exceed ", most)));
  };
  if (auto s = check(&Held::tokens, options_.max_held_tokens, " tokens, "); !s.ok()) return s;
  if (auto s = check(&Held::requests, options_.max_held_requests, " requests, "); !s.ok()) return s;
  return check(&Held::answer_bytes, options_.max_answer_bytes, " bytes of answers, ");
}

// --- requests end ---

void Scheduler::Cancel(Ticket ticket, Clock::time_point now) {
  const auto found = pending_.find(ticket);
  if (found == pending_.end()) return;
  End(found, absl::StatusCode::kCancelled, "cancelled by the caller", now);
  ReportLevels();
}

void Scheduler::Expire(Clock::time_point now) {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    End(pending_.find(deadlines_.begin()->second), absl::StatusCode::kDeadlineExceeded,
        "deadline: passed before the answer was ready", now);
  }
  ReportLevels();
}

Clock::time_point Scheduler::next_deadline() const {
  return deadlines_.empty() ? Clock::time_point::max() : deadlines_.begin()->first;
}

void Scheduler::EndAll(absl::StatusCode code, const std::string& message, Clock::time_point now) {
  while (!pending_.empty()) End(pending_.begin(), code, message, now);
  ReportLevels();
}

void Scheduler::End(PendingMap::iterator found, absl::StatusCode code, const std::string& message,
                    Clock::time_point now) {
  const Ticket ticket = found->first;
  const Pending& pending = found->second;
  queue_.Remove(ticket);
  in_flight_rows_ -= std::erase_if(retries_, [ticket](const RowRef& row) { return row.ticket == ticket; });
  for (size_t row = 0; row < pending.row_done.size(); ++row) {
    if (!pending.row_done[row]) observer_->RowDone(pending.request->rows[row].task, code);
  }
  Reply reply;
  reply.status = absl::Status(code, message);
  AnswerAndForget(found, std::move(reply), now);
}

void Scheduler::RowIsDone(const RowRef& row, RowReply reply, Clock::time_point now) {
  const auto found = pending_.find(row.ticket);
  if (found == pending_.end()) return;  // ended early
  Pending& pending = found->second;
  observer_->RowDone(pending.request->rows[row.row].task, reply.status.code());
  pending.replies[row.row] = std::move(reply);
  pending.row_done[row.row] = true;
  if (--pending.rows_left > 0) return;
  Reply whole;
  if (const int64_t bytes = AnswerBytes(pending.replies); bytes > pending.request->max_answer_bytes) {
    whole.status = absl::ResourceExhaustedError(
        absl::StrCat("the answer became ", bytes, " bytes long, more than the ",
                     pending.request->max_answer_bytes, " that it may have: send fewer rows at once"));
  } else {
    whole.rows = std::move(pending.replies);
  }
  AnswerAndForget(found, std::move(whole), now);
}

void Scheduler::AnswerAndForget(PendingMap::iterator found, Reply reply, Clock::time_point now) {
  Pending& pending = found->second;
  const Clock::time_point taken = pending.first_taken.value_or(now);
  reply.timings.queue = taken - pending.accepted;
  reply.timings.forward = now - taken;
  observer_->RequestDone(reply.status.code(), now - pending.accepted);
  if (pending.request->deadline != Clock::time_point::max()) {
    deadlines_.erase({pending.request->deadline, found->first});
  }
  answers_.push_back(Answer{std::move(pending.done), std::move(reply), pending.held});
  pending_.erase(found);
}

// --- batches go ---

Scheduler::Next Scheduler::Take(Clock::time_point now) {
  Expire(now);
  Next next;
  if (!has_slot()) return next;
  if (RetryIsNext()) {
    next.batch = TakeRetry();
    NoteTaken(*next.batch, now);
    return next;
  }
  if (queue_.empty()) return next;

  BatchPolicy policy = options_.policy;
  if (health_ != Health::kReady) policy.max_wait = Clock::duration::zero();  // nothing more will come
  QueueView view;
  for (size_t priority = 0; priority < kPriorities; ++priority) {
    queue_.Front(static_cast<Priority>(priority), policy.max_tokens, policy.max_rows, front_[priority]);
    view.rows[priority] = front_[priority];
  }
  const Moment moment{now, static_cast<int32_t>(in_engine_.size()), ExpectedIdle(now), batches_without_bulk_};
  const Plan plan = PlanBatch(view, moment, policy);
  if (plan.num_rows() == 0) {
    next.look_again = plan.look_again;
    return next;
  }
  Batch batch;
  batch.rows.reserve(plan.num_rows());
  batch.tokens = plan.tokens;
  for (size_t priority = 0; priority < kPriorities; ++priority) {
    queue_.Take(static_cast<Priority>(priority), plan.rows[priority], batch.rows, batch.holds);
  }
  const bool passed_bulk =
      plan.rows[static_cast<size_t>(Priority::kBulk)] == 0 && queue_.rows(Priority::kBulk) > 0;
  batches_without_bulk_ = passed_bulk ? batches_without_bulk_ + 1 : 0;
  in_flight_rows_ += batch.rows.size();
  NoteTaken(batch, now);
  ReportLevels();
  next.batch = std::move(batch);
  return next;
}

// A retry costs a batch of its own. With interactive rows waiting they take turns, so that a hundred rows of
// one bad batch do not stand in their way; but no more rows may gather for retry than one batch has, whatever
// goes on failing.
bool Scheduler::RetryIsNext() const {
  if (retries_.empty()) return false;
  if (queue_.rows(Priority::kInteractive) == 0 || retries_.size() > options_.policy.max_rows) return true;
  return last_attempt_ == Batch::Attempt::kFirst;
}

Batch Scheduler::TakeRetry() {
  Batch batch;
  batch.attempt = Batch::Attempt::kRetry;
  batch.rows = {retries_.front()};
  batch.holds = {pending_.at(retries_.front().ticket).request};
  batch.tokens = retries_.front().tokens();
  retries_.pop_front();
  return batch;
}

void Scheduler::NoteTaken(const Batch& batch, Clock::time_point now) {
  for (const RowRef& row : batch.rows) {
    Pending& pending = pending_.at(row.ticket);
    if (!pending.first_taken) pending.first_taken = now;
  }
  if (in_engine_.empty()) oldest_since_ = now;
  in_engine_.push_back(batch.tokens);
  last_attempt_ = batch.attempt;
}

// --- batches return ---

void Scheduler::LeaveEngine(std::optional<Clock::duration> took, Clock::time_point now) {
  if (took) times_.Record(in_engine_.front(), *took);
  in_engine_.pop_front();
  oldest_since_ = now;
}

void Scheduler::Finish(Batch batch, std::vector<RowReply> replies, Clock::time_point now) {
  in_flight_rows_ -= batch.rows.size();
  for (size_t i = 0; i < batch.rows.size(); ++i) RowIsDone(batch.rows[i], std::move(replies[i]), now);
  ReportLevels();
}

void Scheduler::Fail(Batch batch, const absl::Status& status, Clock::time_point now) {
  in_flight_rows_ -= batch.rows.size();
  if (status.code() == absl::StatusCode::kUnavailable) {
    if (health_ != Health::kDead) death_ = std::string(status.message());
    health_ = Health::kDead;
    EndAll(absl::StatusCode::kUnavailable, absl::StrCat("the engine is dead: ", death_), now);
    return;
  }
  if (batch.attempt == Batch::Attempt::kRetry) {
    RowReply reply;
    reply.status = absl::Status(
        status.code(), absl::StrCat("row ", batch.rows[0].row,
                                    ": failed in a batch and alone: ", std::string(status.message())));
    RowIsDone(batch.rows[0], std::move(reply), now);
  } else {
    size_t again = 0;
    for (const RowRef& row : batch.rows) {
      if (!pending_.contains(row.ticket)) continue;
      retries_.push_back(row);
      ++again;
    }
    in_flight_rows_ += again;
    if (again > 0) observer_->BatchRetriedByRow(again);
  }
  ReportLevels();
}

void Scheduler::StartDraining() {
  if (health_ == Health::kReady) health_ = Health::kDraining;
}

std::optional<Clock::time_point> Scheduler::ExpectedIdle(Clock::time_point now) const {
  if (in_engine_.empty()) return now;
  Clock::time_point idle = oldest_since_;
  for (const int64_t tokens : in_engine_) {
    const auto took = times_.Expect(tokens);
    if (!took) return std::nullopt;
    idle += *took;
  }
  return idle;
}

void Scheduler::ReportLevels() {
  observer_->Levels(queue_.rows(), static_cast<size_t>(queue_.tokens()), in_flight_rows_);
}

}  // namespace trellis::server
