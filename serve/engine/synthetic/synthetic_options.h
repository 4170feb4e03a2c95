// What a synthetic engine is like, and how to say so on a command line.
#ifndef TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_OPTIONS_H_
#define TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/engine/engine.h"

namespace trellis::engine {

// Steps count from 1 and include those of a server's warm-up. 0 or -1: never.
struct SyntheticOptions {
  // A batch takes batch_us + rows * row_us + tokens * token_ns; batches run one after another.
  int64_t batch_us = 0;
  int64_t row_us = 0;
  int64_t token_ns = 0;

  EngineLimits limits = DefaultLimits();

  int64_t fail_row_id = -1;    // a row with this id fails, alone
  int64_t fail_batch_id = -1;  // a batch with this id in it fails as a whole
  int64_t nonfinite_id = -1;   // a row with this id has a NaN as its last value
  int64_t fail_step = 0;       // the batch of this Step fails
  int64_t throw_step = 0;      // this Step throws
  int64_t throw_wait = 0;      // the Wait of this Step's result throws
  int64_t die_after = 0;       // Steps after this one say kUnavailable
  int64_t die_during = 0;      // this Step's Wait says kUnavailable, and so does all that follows

  // Called when a caller breaks engine.h's contract. Empty: prints what it was and aborts.
  std::function<void(const std::string&)> on_breach;

  static EngineLimits DefaultLimits();
};

// "key=value,...", keys as the fields above and `depth` (max_in_flight), `max_row_tokens`,
// `max_batch_tokens`, `max_batch_rows`, `vocab`, `type_vocab`, `dimensions`, `labels`, `tasks` (names joined
// by +), `model`. InvalidArgument names key, value and what was expected.
absl::StatusOr<SyntheticOptions> ParseSyntheticOptions(std::string_view spec);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_OPTIONS_H_
