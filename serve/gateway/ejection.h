// When a replica gets nothing for a while since its calls fail, whatever its health checks say: one that is
// reachable and answers nonsense, or lets requests wait until their time is up. No clock.
#ifndef TRELLIS_SERVE_GATEWAY_EJECTION_H_
#define TRELLIS_SERVE_GATEWAY_EJECTION_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "serve/server/request.h"

namespace trellis::gateway {

class Ejection {
 public:
  using Time = server::Clock::time_point;

  // One that now and then fails is better than none; so many in a row are no chance.
  static constexpr int kFailuresInARow = 5;
  // The first time; each further time twice as long.
  static constexpr std::chrono::seconds kFirst{1}, kMost{60};

  // Calls that end while it is out were sent before, and say what is known already.
  void Answered(Time now) {
    if (out(now)) return;
    failures_ = 0;
    if (now >= until_ + length_) length_ = {};  // it was good for as long as it was out: forgiven
  }
  void Failed(Time now) {
    if (out(now) || ++failures_ < kFailuresInARow) return;
    failures_ = kFailuresInARow - 1;  // back on trial: the next failure is one too many
    length_ = std::clamp<std::chrono::seconds>(2 * length_, kFirst, kMost);
    until_ = now + length_;
    ++times_;
  }

  bool out(Time now) const { return times_ > 0 && now < until_; }
  int64_t times() const { return times_; }

 private:
  int failures_ = 0;  // in a row
  int64_t times_ = 0;
  std::chrono::seconds length_{0};  // of the last time
  Time until_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_EJECTION_H_
