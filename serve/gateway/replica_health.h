// What a replica's answers to health checks, and the fate of its calls, say of it. No clock and no
// connection.
//
// On a loaded machine a check now and then gets no answer in time, and the replica is none the worse: only
// several in a row take it out. What it says itself counts at once, and so does a call that found nobody
// there.
#ifndef TRELLIS_SERVE_GATEWAY_REPLICA_HEALTH_H_
#define TRELLIS_SERVE_GATEWAY_REPLICA_HEALTH_H_

#include <cstdint>

#include "serve/server/server.h"

namespace trellis::gateway {

class ReplicaHealth {
 public:
  enum class Answer : uint8_t { kServing, kNotServing, kNone };

  // `patience`: so many checks without an answer, one after the other, take a replica out. At least 1.
  explicit ReplicaHealth(int patience) : patience_(patience) {}

  void Checked(Answer answer) {
    silent_ = answer == Answer::kNone ? silent_ + 1 : 0;
    if (answer == Answer::kServing) {
      health_ = server::Health::kReady;
    } else if (health_ == server::Health::kReady && (answer == Answer::kNotServing || silent_ >= patience_)) {
      health_ = server::Health::kDraining;
    }
  }
  // Before the first good check there is nothing to lose.
  void CallFoundNobody() {
    if (health_ == server::Health::kReady) health_ = server::Health::kDraining;
  }

  // So long silent that what was sent there may get no answer, whatever made it so.
  bool hangs() const { return silent_ >= patience_; }
  // Starting until the first good check.
  server::Health health() const { return health_; }

 private:
  const int patience_;
  int silent_ = 0;  // checks in a row
  server::Health health_ = server::Health::kStarting;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_REPLICA_HEALTH_H_
