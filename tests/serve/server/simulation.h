// The scheduler over an engine that exists only on paper, in simulated time: batches run one after another
// and take what a formula says. Nothing sleeps, so that a minute of load is tested in a moment and always the
// same.
#ifndef TRELLIS_TESTS_SERVE_SERVER_SIMULATION_H_
#define TRELLIS_TESTS_SERVE_SERVER_SIMULATION_H_

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "serve/server/scheduler.h"

namespace trellis::server {

class Simulation {
 public:
  using Duration = Clock::duration;

  Simulation(const SchedulerOptions& options, std::function<Duration(int64_t tokens)> batch_time)
      : scheduler_(options, &deaf_), batch_time_(std::move(batch_time)) {}

  // Called whenever something happened, and may submit; returns when it wants to be called at the latest.
  std::function<Clock::time_point(Clock::time_point now)> load;
  // Called with each batch that is handed over.
  std::function<void(const Batch&, Clock::time_point now)> on_batch = [](const Batch&, Clock::time_point) {};

  Scheduler& scheduler() { return scheduler_; }
  Clock::time_point now() const { return now_; }
  Duration longest() const { return longest_; }  // batch so far

  void RunUntil(Clock::time_point end) {
    while (now_ < end) {
      Clock::time_point next = std::min(load(now_), end);
      for (;;) {
        auto taken = scheduler_.Take(now_);
        if (!taken.batch) {
          next = std::min(next, taken.look_again);
          break;
        }
        HandOver(std::move(*taken.batch));
      }
      Deliver();
      if (!running_.empty()) next = std::min(next, running_.front().end);
      next = std::min(next, scheduler_.next_deadline());
      now_ = std::max(next, now_ + Duration(1));
      while (!running_.empty() && running_.front().end <= now_) Finish();
      scheduler_.Expire(now_);
      Deliver();
    }
  }

 private:
  struct Running {
    Batch batch;
    Duration took;
    Clock::time_point end;
  };

  void HandOver(Batch batch) {
    on_batch(batch, now_);
    const Duration took = batch_time_(batch.tokens);
    longest_ = std::max(longest_, took);
    free_at_ = std::max(free_at_, now_) + took;
    running_.push_back({std::move(batch), took, free_at_});
  }
  void Finish() {
    Running done = std::move(running_.front());
    running_.pop_front();
    scheduler_.LeaveEngine(done.took, done.end);
    std::vector<RowReply> replies(done.batch.rows.size());
    scheduler_.Finish(std::move(done.batch), std::move(replies), done.end);
  }
  void Deliver() {
    for (Answer& answer : scheduler_.TakeAnswers()) {
      answer.done(std::move(answer.reply));
      scheduler_.Answered(answer.held);
    }
  }

  Observer deaf_;
  Scheduler scheduler_;
  const std::function<Duration(int64_t)> batch_time_;
  Clock::time_point now_{std::chrono::hours(1)}, free_at_ = now_;
  std::deque<Running> running_;
  Duration longest_{};
};

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_SERVER_SIMULATION_H_
