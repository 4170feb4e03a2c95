// What goes into the batching server and what comes out: plain values, no transport.
#ifndef TRELLIS_SERVE_SERVER_REQUEST_H_
#define TRELLIS_SERVE_SERVER_REQUEST_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "serve/engine/engine.h"

namespace trellis::server {

using Clock = std::chrono::steady_clock;

enum class Priority : uint8_t { kInteractive, kBulk };
inline constexpr int kPriorities = 2;

// One row's answer. A failed row has a message that says why and no values.
struct RowReply {
  absl::Status status;
  std::vector<float> values;
  std::vector<int32_t> indices;  // kSparse only
};

struct Timings {
  Clock::duration queue{};    // from acceptance until its first row went into a batch
  Clock::duration forward{};  // from then until its last row was done
};

// `status` is not OK when the request as a whole ended early (kCancelled, kDeadlineExceeded, kUnavailable) or
// its answer became longer than it may be (kResourceExhausted); `rows` is then empty. Otherwise `rows` has
// one entry a row, in order, failed ones among them.
struct Reply {
  absl::Status status;
  std::vector<RowReply> rows;
  Timings timings;
  // Whoever has yet to pass the answer on keeps this: until its last copy is gone, the request counts as
  // undelivered, and so many of those make the server refuse new ones.
  std::shared_ptr<void> hold = {};
};

// Rows that are admitted together or not at all. They may run in different batches; the answer comes when all
// are done.
struct Request {
  std::vector<int32_t> ids;         // [tokens]
  std::vector<int32_t> type_ids;    // [tokens] or empty
  std::vector<int32_t> cu_seqlens;  // [rows + 1]
  std::vector<engine::RowTask> rows;
  Priority priority = Priority::kInteractive;
  Clock::time_point deadline = Clock::time_point::max();
  // Bytes that the answer may have (answer_bytes.h). What could never be within is the caller's to refuse.
  int64_t max_answer_bytes = std::numeric_limits<int64_t>::max();
  // Called exactly once for a request that Submit accepted, on a thread of the server, and never for one it
  // refused. Must not block and must not call Drain or destroy the server.
  std::function<void(Reply)> done;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_REQUEST_H_
