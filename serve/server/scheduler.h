// The server's state and every decision in it, without a thread, a lock, a clock or an engine: the Executor
// calls it under its mutex and says what time it is, and tests step it.
//
// A row is in one place: queued, in a batch (given out by Take, given back by Finish or Fail), waiting for
// its retry, or done. A request is unanswered until its last row is done or it ends early; then its answer
// goes to TakeAnswers, once, and rows of it that still come back from the engine are dropped.
#ifndef TRELLIS_SERVE_SERVER_SCHEDULER_H_
#define TRELLIS_SERVE_SERVER_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/server/batch_times.h"
#include "serve/server/batcher.h"
#include "serve/server/observer.h"
#include "serve/server/request.h"
#include "serve/server/row_queue.h"
#include "serve/server/server.h"
#include "serve/server/undelivered.h"

namespace trellis::server {

struct Batch {
  enum class Attempt : uint8_t { kFirst, kRetry };  // a retry has one row

  std::vector<RowRef> rows;
  // Keep the rows' memory, whatever becomes of their requests.
  std::vector<std::shared_ptr<const Request>> holds;
  int64_t tokens = 0;
  Attempt attempt = Attempt::kFirst;
};

struct Answer {
  std::function<void(Reply)> done;
  Reply reply;
  Held held;  // for Answered
};

struct SchedulerOptions {
  BatchPolicy policy;
  int64_t max_queued_tokens = 0;
  int64_t max_queued_tokens_bulk = 0;  // less, so that a stream of bulk requests leaves room for others
  // Requests with rows in the queue: a short one costs far more than its tokens.
  int64_t max_queued_requests = std::numeric_limits<int64_t>::max();
  int64_t max_queued_requests_bulk = std::numeric_limits<int64_t>::max();
  // All requests whose answers have not been delivered: what bounds memory when answers are not collected.
  int64_t max_held_tokens = 0;
  int64_t max_held_requests = std::numeric_limits<int64_t>::max();
  int64_t max_answer_bytes = std::numeric_limits<int64_t>::max();

  int64_t max_queued(Priority priority) const {
    return priority == Priority::kBulk ? max_queued_tokens_bulk : max_queued_tokens;
  }
  int64_t max_requests(Priority priority) const {
    return priority == Priority::kBulk ? max_queued_requests_bulk : max_queued_requests;
  }
};

class Scheduler {
 public:
  // `observer` is called from within the methods; not null.
  Scheduler(const SchedulerOptions& options, Observer* observer);

  // A request that CheckRequest passed. One that is refused is left as it is: its destructor is the caller's,
  // who has no lock. `answer_bytes`: that its answer may have at most. `undelivered`: of answers that were
  // given and count still.
  absl::StatusOr<Ticket> Accept(Request&& request, Clock::time_point now, int64_t answer_bytes = 0,
                                const Held& undelivered = {});
  void Cancel(Ticket ticket, Clock::time_point now);
  // Ends the requests whose deadline has come, wherever their rows are.
  void Expire(Clock::time_point now);
  Clock::time_point next_deadline() const;

  // The next batch for the engine, or when to ask again if nothing happens before.
  struct Next {
    std::optional<Batch> batch;
    Clock::time_point look_again = Clock::time_point::max();
  };
  Next Take(Clock::time_point now);
  // The oldest batch in the engine is no longer computed; its outcome follows by Finish or Fail. `took` is
  // known when it was computed at all.
  void LeaveEngine(std::optional<Clock::duration> took, Clock::time_point now);
  // The engine did not take the newest batch; Fail follows.
  void TurnedAway() { in_engine_.pop_back(); }
  void Finish(Batch batch, std::vector<RowReply> replies, Clock::time_point now);
  // The batch as a whole. kUnavailable: the engine is dead.
  void Fail(Batch batch, const absl::Status& status, Clock::time_point now);

  void StartDraining();
  void EndAll(absl::StatusCode code, const std::string& message, Clock::time_point now);

  bool has_answers() const { return !answers_.empty(); }
  std::vector<Answer> TakeAnswers() { return std::exchange(answers_, {}); }
  // An answer that was taken now counts among the undelivered.
  void Answered(const Held& held) { held_ -= held; }

  // Nothing accepted whose answer has not been taken.
  bool settled() const { return held_.requests == 0; }
  bool has_slot() const { return static_cast<int32_t>(in_engine_.size()) < options_.policy.max_in_flight; }
  Health health() const { return health_; }
  const RowQueue& queue() const { return queue_; }
  size_t in_flight_rows() const { return in_flight_rows_; }

 private:
  struct Pending {
    std::shared_ptr<const Request> request;
    std::function<void(Reply)> done;
    Clock::time_point accepted;
    std::optional<Clock::time_point> first_taken;
    std::vector<RowReply> replies;
    std::vector<bool> row_done;
    size_t rows_left = 0;
    Held held;
  };
  using PendingMap = std::unordered_map<Ticket, Pending>;

  absl::Status Refuse(Observer::Refusal reason, absl::Status status);
  absl::Status CheckHeld(const Held& more, const Held& undelivered);
  void RowIsDone(const RowRef& row, RowReply reply, Clock::time_point now);
  void End(PendingMap::iterator found, absl::StatusCode code, const std::string& message,
           Clock::time_point now);
  void AnswerAndForget(PendingMap::iterator found, Reply reply, Clock::time_point now);
  bool RetryIsNext() const;
  Batch TakeRetry();
  void NoteTaken(const Batch& batch, Clock::time_point now);
  std::optional<Clock::time_point> ExpectedIdle(Clock::time_point now) const;
  void ReportLevels();

  const SchedulerOptions options_;
  Observer* const observer_;
  Health health_ = Health::kReady;
  std::string death_;  // why, once dead

  RowQueue queue_;
  PendingMap pending_;
  std::set<std::pair<Clock::time_point, Ticket>> deadlines_;
  std::deque<RowRef> retries_;  // rows of unanswered requests only
  std::vector<Answer> answers_;

  std::deque<int64_t> in_engine_;   // tokens of each batch in it, oldest first
  Clock::time_point oldest_since_;  // when the engine began with the oldest
  BatchTimes times_;
  int32_t batches_without_bulk_ = 0;
  Batch::Attempt last_attempt_ = Batch::Attempt::kFirst;

  Ticket last_ticket_ = 0;
  size_t in_flight_rows_ = 0;                  // in batches or waiting for their retry
  Held held_;                                  // of requests whose answers have not been taken
  std::vector<QueuedRow> front_[kPriorities];  // kept for its memory
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_SCHEDULER_H_
