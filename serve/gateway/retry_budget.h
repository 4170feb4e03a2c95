// How many requests may be tried a second time. Retries are for the loss of one replica, not for the overload
// of all, where each would add to it: every tenth request earns one and so does every second, and what is
// saved up is about what a replica may have under way when it is lost.
#ifndef TRELLIS_SERVE_GATEWAY_RETRY_BUDGET_H_
#define TRELLIS_SERVE_GATEWAY_RETRY_BUDGET_H_

#include <algorithm>
#include <chrono>

#include "serve/server/request.h"

namespace trellis::gateway {

class RetryBudget {
 public:
  static constexpr double kEarnedByRequest = 0.1;
  static constexpr double kEarnedBySecond = 1;
  static constexpr double kMost = 256;

  explicit RetryBudget(server::Clock::time_point now) : since_(now) {}

  void CountRequest() { left_ = std::min(kMost, left_ + kEarnedByRequest); }

  // Whether one more is allowed, which is then spent.
  bool Spend(server::Clock::time_point now) {
    const std::chrono::duration<double> passed = now - since_;
    since_ = now;
    left_ = std::min(kMost, left_ + passed.count() * kEarnedBySecond);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double left_ = kMost;
  server::Clock::time_point since_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_RETRY_BUDGET_H_
