// The chunks of one client's request on their way: a few at a time to the replica, and their answers put
// together again in order. The first failure ends all of it.
#ifndef TRELLIS_SERVE_GATEWAY_DISPATCH_H_
#define TRELLIS_SERVE_GATEWAY_DISPATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "serve/gateway/replica.h"

namespace trellis::gateway {

// So many chunks of one request may be at the replica: enough that it never waits for the next, and no more,
// so that others find room in its queue.
inline constexpr size_t kChunksAtOnce = 4;

class Dispatch : public std::enable_shared_from_this<Dispatch> {
 public:
  struct Outcome {
    absl::Status status;  // of a failed row too, which then is named by its place among all
    std::vector<server::RowReply> rows;
    server::Timings timings;  // of the slowest chunk
    // The reply's, where there was one chunk. Several would wait for each other: those that are done take the
    // room that the rest needs.
    std::shared_ptr<void> hold;
  };
  using Done = std::function<void(Outcome)>;

  // `done` is called exactly once, on any thread. The replica outlives the dispatch.
  static std::shared_ptr<Dispatch> Start(Replica& replica, std::vector<ReplicaRequest> chunks, Done done);

  // The client is gone: what is not computed yet need not be. `done` is called all the same.
  void Cancel();

 private:
  struct Part {
    enum class State : uint8_t { kWaiting, kSent, kEnded } state = State::kWaiting;
    ReplicaRequest request;
    server::Ticket ticket = 0;
    size_t first_row = 0;
    size_t num_rows = 0;
    std::vector<server::RowReply> rows;
  };

  Dispatch(Replica& replica, std::vector<ReplicaRequest> chunks, Done done);
  // Sends what may be sent; calls `done_` when nothing is left to wait for.
  void Proceed();
  void Answered(size_t index, server::Reply reply);
  absl::Status KeepRows(Part& part, server::Reply& reply);
  std::vector<server::Ticket> FailLocked(const absl::Status& status);

  Replica& replica_;
  std::mutex mutex_;  // guards what follows; not held while the replica or `done_` is called
  std::vector<Part> parts_;
  size_t in_flight_ = 0;
  size_t completed_ = 0;
  bool queue_was_full_ = false;  // nothing more is sent until one of ours is through
  absl::Status failure_;
  server::Timings timings_;
  std::shared_ptr<void> hold_;
  Done done_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_DISPATCH_H_
