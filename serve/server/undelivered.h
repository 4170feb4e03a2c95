// Answers that were given and have not reached their callers: what bounds memory when callers do not collect.
#ifndef TRELLIS_SERVE_SERVER_UNDELIVERED_H_
#define TRELLIS_SERVE_SERVER_UNDELIVERED_H_

#include <cstdint>
#include <memory>
#include <mutex>

#include "serve/server/observer.h"

namespace trellis::server {

// What a request takes up, from its acceptance until its answer is delivered.
struct Held {
  int64_t requests = 0;
  int64_t tokens = 0;
  int64_t answer_bytes = 0;  // that the answer may have at most, see answer_bytes.h

  Held& operator+=(const Held& other) {
    requests += other.requests;
    tokens += other.tokens;
    answer_bytes += other.answer_bytes;
    return *this;
  }
  Held& operator-=(const Held& other) {
    return *this += {-other.requests, -other.tokens, -other.answer_bytes};
  }
};

// Thread-safe. Made by std::make_shared: what was handed out keeps it, also after the server.
class Undelivered : public std::enable_shared_from_this<Undelivered> {
 public:
  explicit Undelivered(Observer* observer) : observer_(observer) {}

  // Counts until the last copy of what it returns is gone.
  std::shared_ptr<void> Hold(const Held& held);
  Held held() const;

  // The observer may be gone from now on.
  void ForgetObserver();

 private:
  class Receipt;

  void Change(const Held& by);

  mutable std::mutex mutex_;
  Observer* observer_;  // guarded by mutex_
  Held held_;           // guarded by mutex_
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_UNDELIVERED_H_
