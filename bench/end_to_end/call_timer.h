// Times of single calls by the steady clock, the clock's own cost taken off.
#ifndef TRELLIS_BENCH_END_TO_END_CALL_TIMER_H_
#define TRELLIS_BENCH_END_TO_END_CALL_TIMER_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

namespace trellis::bench {

inline double NowMicroseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What two readings of the clock with nothing between them cost.
inline double ClockCostMicroseconds() {
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < 10000; ++i) {
    const double begin = NowMicroseconds();
    const double spent = NowMicroseconds() - begin;
    if (spent > 0) least = std::min(least, spent);
  }
  return least;
}

// The value below which `share` of the samples lie (nearest rank); reorders them.
inline double Quantile(std::vector<double>& samples, double share) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto rank =
      std::min(samples.size() - 1, static_cast<size_t>(share * static_cast<double>(samples.size())));
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(rank), samples.end());
  return samples[rank];
}

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_CALL_TIMER_H_
