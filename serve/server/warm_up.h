// Runs an engine for the first time and finds how many tokens make a batch of a wanted duration.
#ifndef TRELLIS_SERVE_SERVER_WARM_UP_H_
#define TRELLIS_SERVE_SERVER_WARM_UP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/engine.h"
#include "serve/server/request.h"

namespace trellis::server {

using Now = std::function<Clock::time_point()>;

// One small batch, so that an engine that cannot run at all is known before the first request.
absl::Status TryEngine(engine::Engine& engine);

struct Probe {
  int64_t tokens = 0;
  Clock::duration took{};
};
struct BudgetSearch {
  int64_t max_tokens = 0;     // the budget found
  Clock::duration took{};     // what it took
  std::vector<Probe> probes;  // in the order they ran
};

// Batches of doubling size, each a few times, until one takes `target`; then the size that should, by what a
// batch and what a token costs, which is timed in turn. The shortest time of a size counts, since what
// disturbs only ever adds. Where a batch's fixed cost is more than half of the target, batches take twice
// that cost. The budget is at least the longest row and at most what an engine batch of `max_rows` rows can
// hold. Costs about ten times `target`, on an engine of which a row takes no longer.
absl::StatusOr<BudgetSearch> FindBudget(engine::Engine& engine, int32_t max_rows, Clock::duration target,
                                        const Now& now);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_WARM_UP_H_
