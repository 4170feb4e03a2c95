// The batching server without a transport: requests in, batches through an engine, answers out.
//
// While the engine works, requests gather in one bounded queue; the next batch is taken from it, first come
// first served within a class, up to a token budget. The packing of batch N + 1 and the answers of batch N -
// 1 overlap with batch N.
#ifndef TRELLIS_SERVE_SERVER_SERVER_H_
#define TRELLIS_SERVE_SERVER_SERVER_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/engine.h"
#include "serve/server/observer.h"
#include "serve/server/request.h"

namespace trellis::server {

struct ServerOptions {
  int32_t max_batch_tokens = 0;    // 0: what runs in about `target_batch_time`, found at warm-up
  int32_t max_batch_requests = 0;  // rows in a batch; 0: the engine's limit
  int64_t max_queued_tokens = 0;   // 0: 64 batches' worth
  int64_t max_queued_requests = 8192;
  // Bytes of answers, computed or to come, of all requests whose answers are not delivered. 0: 512 MiB, or
  // eight of a batch's longest answers where those are more.
  int64_t max_answer_bytes = 0;
  // How long a batch that is not full may wait for more; 0: never.
  std::chrono::microseconds max_wait{0};
  // After so long in the queue bulk rows get a share of every few batches, whatever else waits.
  std::chrono::microseconds bulk_ageing{1'000'000};
  std::chrono::milliseconds target_batch_time{50};
};

enum class Health : uint8_t { kStarting, kReady, kDraining, kDead };

using Ticket = uint64_t;  // names an accepted request; never used twice

class Server {
 public:
  // Warms the engine up (blocking) and starts the server's threads. InvalidArgument: an option that no batch
  // can meet, such as a budget below the engine's longest row. `observer` may be null and must outlive the
  // server.
  static absl::StatusOr<std::unique_ptr<Server>> Create(std::unique_ptr<engine::Engine> engine,
                                                        const ServerOptions& options, Observer* observer);
  virtual ~Server() = default;  // as Drain(0)

  // Never blocks. InvalidArgument: a row that is malformed or can never fit (the message names the row).
  // FailedPrecondition: a task that the model does not have. ResourceExhausted: the queue is full, or too
  // many answers are not delivered.
  // DeadlineExceeded: the deadline has passed. Unavailable: draining or dead. In all these cases
  // `request.done` is not called.
  virtual absl::StatusOr<Ticket> Submit(Request request) = 0;

  // The request's rows still in the queue are dropped before the engine sees them, and it is answered
  // kCancelled, unless it is answered already. Any thread; an unknown ticket is no error.
  virtual void Cancel(Ticket ticket) = 0;

  // Accepts nothing more, finishes what was accepted, and after `limit` answers the rest kUnavailable.
  // Returns whether everything was finished in time. Blocking.
  virtual bool Drain(std::chrono::milliseconds limit) = 0;

  virtual Health health() const = 0;
  virtual const engine::EngineLimits& engine_limits() const = 0;
  // In force: given, or found at warm-up.
  virtual int32_t max_batch_tokens() const = 0;
  virtual int64_t max_queued_tokens(Priority priority) const = 0;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_SERVER_H_
