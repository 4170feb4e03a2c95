// How many tokens a batch may have for its graph to be worth it. Kernels are launched while earlier ones run:
// once the GPU takes longer over a batch than the host over launching it, launching hides behind it, and a
// graph only takes memory.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_INFLECTION_H_
#define TRELLIS_SERVE_ENGINE_CUDA_INFLECTION_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace trellis::engine::cuda {

// From before the first launch until the result is there, for a batch of that many tokens.
class ForwardTimes {
 public:
  using Duration = std::chrono::nanoseconds;
  virtual ~ForwardTimes() = default;
  virtual absl::StatusOr<Duration> Eager(int32_t tokens) = 0;   // kernel by kernel
  virtual absl::StatusOr<Duration> Replay(int32_t tokens) = 0;  // as a graph
};

struct Inflection {
  int32_t tokens = 0;  // the most with which a graph gains; 0: it never does
  struct Probe {
    int32_t tokens = 0;
    ForwardTimes::Duration eager{}, replay{};
  };
  std::vector<Probe> probes;  // in the order they were made
};

// A graph gains if it takes at most this share of the eager time: less is within what repeated measurements
// differ by.
inline constexpr double kGainAtMost = 0.95;

// Probes doubling sizes up to `max_tokens`, a bucket's, until two in a row gain nothing; then halves the gap
// behind the last that did. An error is that of a measurement.
absl::StatusOr<Inflection> FindInflection(ForwardTimes& times, int32_t max_tokens);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_INFLECTION_H_
