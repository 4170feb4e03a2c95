#include "serve/server/executor.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/server/row_replies.h"

namespace trellis::server {
namespace {

// Whatever code of the engine throws becomes the failure of the batch it was called for.
template <typename Call>
absl::Status Guarded(const char* where, Call call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat(where, ": exception: ", e.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(where, ": exception of an unknown type"));
  }
}

}  // namespace

Executor::Executor(engine::Engine* engine, const SchedulerOptions& options, Observer* observer)
    : engine_(engine),
      observer_(observer),
      undelivered_(std::make_shared<Undelivered>(observer)),
      scheduler_(options, observer) {
  stepper_ = std::thread([this] { RunStepper(); });
  finisher_ = std::thread([this] { RunFinisher(); });
  answerer_ = std::thread([this] { RunAnswerer(); });
}

Executor::~Executor() {
  Drain(std::chrono::milliseconds(0));
  const auto end = [this](Stop stop, std::condition_variable& wake, std::thread& thread) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = stop;
    }
    wake.notify_all();
    thread.join();
  };
  end(Stop::kStepper, work_, stepper_);
  end(Stop::kFinisher, running_changed_, finisher_);
  end(Stop::kAnswerer, answers_changed_, answerer_);
  undelivered_->ForgetObserver();
}

absl::StatusOr<Ticket> Executor::Accept(Request&& request, int64_t answer_bytes) {
  const std::lock_guard lock(mutex_);
  auto ticket = scheduler_.Accept(std::move(request), Clock::now(), answer_bytes, undelivered_->held());
  if (ticket.ok()) WakeOthers();
  return ticket;
}

void Executor::Cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  scheduler_.Cancel(ticket, Clock::now());
  WakeOthers();
}

bool Executor::Drain(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  scheduler_.StartDraining();
  WakeOthers();
  const auto settled = [this] { return Settled(); };
  // The clock's last second is as good as for ever, and cannot be passed by adding to it.
  const Clock::time_point now = Clock::now();
  const bool forever =
      limit >= std::chrono::duration_cast<std::chrono::milliseconds>(Clock::time_point::max() - now);
  bool finished = true;
  if (forever) {
    settled_.wait(lock, settled);
  } else {
    finished = settled_.wait_until(lock, now + limit, settled);
  }
  if (!finished) {
    scheduler_.EndAll(absl::StatusCode::kUnavailable, "the server is shutting down and has no time left",
                      Clock::now());
    WakeOthers();
    settled_.wait(lock, settled);
  }
  return finished;
}

Health Executor::health() const {
  const std::lock_guard lock(mutex_);
  return scheduler_.health();
}

// Under the mutex, after the scheduler changed: wakes who has something to do now.
void Executor::WakeOthers() {
  if (scheduler_.has_slot()) work_.notify_one();
  if (scheduler_.has_answers() || scheduler_.next_deadline() < answerer_wakes_at_)
    answers_changed_.notify_one();
  if (Settled()) settled_.notify_all();
}

void Executor::RunStepper() {
  std::unique_lock lock(mutex_);
  while (stop_ == Stop::kNo) {
    Scheduler::Next next = scheduler_.Take(Clock::now());
    if (scheduler_.has_answers()) answers_changed_.notify_one();
    if (!next.batch) {
      if (next.look_again == Clock::time_point::max()) {
        work_.wait(lock);
      } else {
        work_.wait_until(lock, next.look_again);
      }
      continue;
    }
    std::unique_ptr<PackedRows> memory;
    if (!spare_.empty()) {
      memory = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    HandOver(std::move(*next.batch), std::move(memory));
    lock.lock();
  }
}

void Executor::HandOver(Batch batch, std::unique_ptr<PackedRows> memory) {
  Running running;
  running.handed_over = Clock::now();
  if (batch.attempt == Batch::Attempt::kFirst) {
    for (const RowRef& row : batch.rows) observer_->RowDequeued(running.handed_over - row.accepted);
  }
  observer_->BatchStarted(batch.rows.size(), static_cast<size_t>(batch.tokens));
  const absl::Status status = Guarded("Step", [&]() -> absl::Status {
    if (memory == nullptr) memory = std::make_unique<PackedRows>();
    memory->Pack(batch.rows);
    auto result = engine_->Step(memory->view());
    if (!result.ok()) return result.status();
    if (*result == nullptr) return absl::InternalError("Step: no result and no error, expected one of them");
    running.result = *std::move(result);
    return absl::OkStatus();
  });
  if (!status.ok()) observer_->BatchDone(Clock::now() - running.handed_over, status.code());

  std::unique_lock lock(mutex_);
  if (status.ok()) {
    running.batch = std::move(batch);
    running.memory = std::move(memory);
    running_.push_back(std::move(running));
    running_changed_.notify_one();
    return;
  }
  // A dead engine ends every request; but not those whose values it has given already.
  copied_.wait(lock, [this] { return !copying_; });
  scheduler_.TurnedAway();
  scheduler_.Fail(std::move(batch), status, Clock::now());
  if (memory != nullptr) spare_.push_back(std::move(memory));
  WakeOthers();
}

void Executor::RunFinisher() {
  std::unique_lock lock(mutex_);
  for (;;) {
    running_changed_.wait(lock, [this] { return !running_.empty() || stop_ == Stop::kFinisher; });
    if (running_.empty()) return;
    Running running = std::move(running_.front());
    running_.pop_front();
    lock.unlock();
    Complete(std::move(running));
    lock.lock();
  }
}

void Executor::Complete(Running running) {
  absl::Status status = Guarded("Wait", [&] { return running.result->Wait(); });
  const Clock::time_point end = Clock::now();
  const Clock::duration took = end - std::max(running.handed_over, last_end_);
  last_end_ = end;
  observer_->BatchDone(took, status.code());
  // After a failed Wait only the destructor says that the batch's memory is free.
  if (!status.ok()) running.result.reset();
  {
    // The place in the engine is free before the values are copied.
    const std::lock_guard lock(mutex_);
    scheduler_.LeaveEngine(status.ok() ? std::optional(took) : std::nullopt, end);
    copying_ = status.ok();
    work_.notify_one();
  }
  std::vector<RowReply> replies;
  if (status.ok()) {
    status = Guarded("row", [&] {
      replies = CollectReplies(*running.result, running.batch.rows, engine_->limits());
      return absl::OkStatus();
    });
    running.result.reset();
  }
  const std::lock_guard lock(mutex_);
  copying_ = false;
  copied_.notify_all();
  spare_.push_back(std::move(running.memory));
  if (status.ok()) {
    scheduler_.Finish(std::move(running.batch), std::move(replies), Clock::now());
  } else {
    scheduler_.Fail(std::move(running.batch), status, Clock::now());
  }
  WakeOthers();
}

void Executor::RunAnswerer() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::vector<Answer> answers = scheduler_.TakeAnswers();
    if (!answers.empty()) {
      for (Answer& answer : answers) {
        scheduler_.Answered(answer.held);
        // An answer without rows has next to no bytes.
        if (!answer.reply.status.ok()) answer.held.answer_bytes = 0;
        answer.reply.hold = undelivered_->Hold(answer.held);
      }
      answering_ = true;
      lock.unlock();
      for (Answer& answer : answers) {
        try {
          answer.done(std::move(answer.reply));
        } catch (const std::exception& e) {
          std::fprintf(stderr, "trellis: a request's done threw: %s\n", e.what());
        } catch (...) {
          std::fprintf(stderr, "trellis: a request's done threw\n");
        }
      }
      answers.clear();  // what the callbacks hold is released without the lock
      lock.lock();
      answering_ = false;
      if (Settled()) settled_.notify_all();
      scheduler_.Expire(Clock::now());
      continue;
    }
    if (stop_ == Stop::kAnswerer) return;
    answerer_wakes_at_ = scheduler_.next_deadline();
    if (answerer_wakes_at_ == Clock::time_point::max()) {
      answers_changed_.wait(lock);
    } else {
      answers_changed_.wait_until(lock, answerer_wakes_at_);
    }
    answerer_wakes_at_ = Clock::time_point::min();
    scheduler_.Expire(Clock::now());
  }
}

}  // namespace trellis::server
