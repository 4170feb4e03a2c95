// The threads around the Scheduler, and the only lock.
//
//   stepper   takes the next batch, packs it, hands it to the engine
//   finisher  waits for the oldest batch in the engine, frees its place, copies and checks its values
//   answerer  calls `done`, and ends requests whose deadline comes
//
// So the packing of batch N + 1 does not wait for the values of batch N, nor those for anybody's `done`, and
// a deadline is answered while both others are inside the engine. `mutex_` guards the scheduler and the
// hand-offs between the threads; it is never held while the engine or a `done` runs.
#ifndef TRELLIS_SERVE_SERVER_EXECUTOR_H_
#define TRELLIS_SERVE_SERVER_EXECUTOR_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/engine.h"
#include "serve/server/observer.h"
#include "serve/server/packed_rows.h"
#include "serve/server/request.h"
#include "serve/server/scheduler.h"
#include "serve/server/undelivered.h"

namespace trellis::server {

class Executor {
 public:
  // Both pointers outlive the executor; nobody else calls the engine meanwhile.
  Executor(engine::Engine* engine, const SchedulerOptions& options, Observer* observer);
  // As Drain(0), then waits for the engine to give back what it has.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  absl::StatusOr<Ticket> Accept(Request&& request, int64_t answer_bytes);  // as Scheduler::Accept
  void Cancel(Ticket ticket);
  bool Drain(std::chrono::milliseconds limit);
  Health health() const;

 private:
  struct Running {
    Batch batch;
    std::unique_ptr<PackedRows> memory;
    std::unique_ptr<engine::LazyResult> result;
    Clock::time_point handed_over;
  };

  void RunStepper();
  void RunFinisher();
  void RunAnswerer();
  void HandOver(Batch batch, std::unique_ptr<PackedRows> memory);
  void Complete(Running running);
  void WakeOthers();
  bool Settled() const { return scheduler_.settled() && !answering_; }

  engine::Engine* const engine_;
  Observer* const observer_;
  const std::shared_ptr<Undelivered> undelivered_;

  mutable std::mutex mutex_;
  std::condition_variable work_, running_changed_, copied_, answers_changed_, settled_;
  Scheduler scheduler_;
  std::deque<Running> running_;  // in the engine, oldest first, but for the one that the finisher has
  std::vector<std::unique_ptr<PackedRows>> spare_;
  enum class Stop : uint8_t { kNo, kStepper, kFinisher, kAnswerer };
  Stop stop_ = Stop::kNo;  // the threads end in this order, each when it has no work left
  Clock::time_point answerer_wakes_at_ = Clock::time_point::min();  // by itself; min while it is awake

  bool copying_ = false;    // the finisher has values that are not with the scheduler yet
  bool answering_ = false;  // a `done` may be running

  Clock::time_point last_end_;  // the finisher's own: when the engine was done with the batch before
  std::thread stepper_, finisher_, answerer_;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_EXECUTOR_H_
