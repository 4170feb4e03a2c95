// Which rows make the next batch: a pure function of what waits, of the time and of the engine's state.
//
// Order within a class is never changed: a row that does not fit ends its class's turn, and nothing behind it
// passes. Interactive rows come first and bulk rows fill what is left, with two rules:
//
//   Late: bulk rows go to an engine that has nothing to do, or that is about to have (`kHandOverLead`), and
//   are not put behind a batch that still runs. An interactive newcomer therefore waits for the rest of one
//   batch and its own, never for a bulk batch that was queued up inside the engine. Interactive rows go as
//   deep as the engine allows.
//
//   Due: once the first bulk row has waited `bulk_ageing` and as many batches as the engine holds have gone
//   without any bulk row, bulk rows come first in the next batch, up to half of it (one row at least). So a
//   stream of interactive rows cannot starve them, and a queue full of old bulk rows cannot bury an
//   interactive one.
#ifndef TRELLIS_SERVE_SERVER_BATCHER_H_
#define TRELLIS_SERVE_SERVER_BATCHER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "serve/server/request.h"

namespace trellis::server {

// Enough for a wake-up, the packing and the hand-over; too little to be noticed by who comes meanwhile.
inline constexpr std::chrono::microseconds kHandOverLead{250};

struct QueuedRow {
  int32_t tokens = 0;
  Clock::time_point arrival;
  Clock::time_point deadline = Clock::time_point::max();
};

// The front of each class, oldest first. It may end early where the rows in it already exceed a batch.
struct QueueView {
  std::span<const QueuedRow> rows[kPriorities];
};

struct BatchPolicy {
  int64_t max_tokens = 0;  // at least the longest row that is ever queued
  size_t max_rows = 0;     // at least 1
  int32_t max_in_flight = 1;
  Clock::duration max_wait{};
  Clock::duration bulk_ageing{};
};

struct Moment {
  Clock::time_point now;
  int32_t unfinished = 0;  // batches in the engine, less than max_in_flight
  // When those are expected to be done, if there is an idea of it.
  std::optional<Clock::time_point> idle_at = std::nullopt;
  int32_t batches_without_bulk = 0;  // in a row, while bulk rows waited
};

struct Plan {
  size_t rows[kPriorities] = {};  // so many from the front of each class; all 0: no batch now
  int64_t tokens = 0;
  // When there is no batch now: ask again then, if nothing happens before.
  Clock::time_point look_again = Clock::time_point::max();

  size_t num_rows() const { return rows[0] + rows[1]; }
};

Plan PlanBatch(const QueueView& view, const Moment& moment, const BatchPolicy& policy);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_BATCHER_H_
