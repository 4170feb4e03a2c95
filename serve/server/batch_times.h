// How long a batch of so many tokens takes, learnt from those that ran: good enough to say when the engine
// will be idle.
#ifndef TRELLIS_SERVE_SERVER_BATCH_TIMES_H_
#define TRELLIS_SERVE_SERVER_BATCH_TIMES_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "serve/server/request.h"

namespace trellis::server {

// The straight line through the last few batches: a batch costs something, and so does each token.
class BatchTimes {
 public:
  void Record(int64_t tokens, Clock::duration took) {
    const double x = static_cast<double>(tokens), y = std::chrono::duration<double>(took).count();
    // What is old fades, so that the forecast follows; one slow batch moves it a little.
    for (double* sum : {&weight_, &x_, &y_, &xx_, &xy_}) *sum *= kMemory;
    weight_ += 1;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    xy_ += x * y;
  }

  // Nothing as long as nothing ran.
  std::optional<Clock::duration> Expect(int64_t tokens) const {
    if (weight_ == 0) return std::nullopt;
    const double mean_x = x_ / weight_, mean_y = y_ / weight_;
    const double variance = xx_ / weight_ - mean_x * mean_x;
    // Batches of one size say nothing about other sizes; then all are expected to take the same.
    const bool sizes_differ = variance > 1e-6 * mean_x * mean_x;
    const double slope = sizes_differ ? std::max(0.0, (xy_ / weight_ - mean_x * mean_y) / variance) : 0.0;
    const double seconds = std::max(0.0, mean_y + slope * (static_cast<double>(tokens) - mean_x));
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

 private:
  static constexpr double kMemory = 0.95;

  double weight_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_BATCH_TIMES_H_
