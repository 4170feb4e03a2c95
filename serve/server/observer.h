// What the server reports at its hand-offs, each event once. Metrics listen here, so that the server knows of
// none. Implementations must be thread-safe, must not block and must not throw.
#ifndef TRELLIS_SERVE_SERVER_OBSERVER_H_
#define TRELLIS_SERVE_SERVER_OBSERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "serve/engine/engine.h"

namespace trellis::server {

class Observer {
 public:
  enum class Refusal : uint8_t {
    kQueueFull,  // tokens
    kInvalid,
    kUnsupportedTask,
    kDeadline,
    kDraining,
    kDead,
    kTooManyRequests,  // in the queue
    kUndelivered,      // answers are not collected
    kCancelled,        // given up before the request was there
  };
  static constexpr int kRefusals = 9;

  virtual ~Observer() = default;
  virtual void Accepted(size_t /*rows*/, size_t /*tokens*/) {}
  virtual void Refused(Refusal /*reason*/) {}
  // The queue after a change: a level, not a count. In flight: rows given to the engine and not yet answered.
  virtual void Levels(size_t /*queued_rows*/, size_t /*queued_tokens*/, size_t /*in_flight_rows*/) {}
  virtual void RowDequeued(std::chrono::nanoseconds /*waited*/) {}  // into a batch
  virtual void BatchStarted(size_t /*rows*/, size_t /*tokens*/) {}
  virtual void BatchDone(std::chrono::nanoseconds /*forward*/, absl::StatusCode /*status*/) {}
  virtual void BatchRetriedByRow(size_t /*rows*/) {}
  // Each accepted row, exactly once. kDataLoss: the engine gave values that are not finite.
  virtual void RowDone(engine::Task /*task*/, absl::StatusCode /*status*/) {}
  virtual void RequestDone(absl::StatusCode /*status*/, std::chrono::nanoseconds /*since_accepted*/) {}
  // Answers given and not yet delivered, after a change: a level, not a count.
  virtual void Undelivered(size_t /*requests*/, size_t /*bytes*/) {}
  // A connection was closed as soon as it came: there are too many.
  virtual void ConnectionRefused() {}
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_OBSERVER_H_
