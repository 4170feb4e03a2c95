// SIGTERM and SIGINT as something to wait for, instead of something that happens in between.
#ifndef TRELLIS_SERVE_STOP_SIGNALS_H_
#define TRELLIS_SERVE_STOP_SIGNALS_H_

#include <chrono>
#include <csignal>
#include <optional>

namespace trellis::program {

class StopSignals {
 public:
  // Blocks them for this thread and all that it starts: construct it before any other thread.
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  // The signal that came within `limit`, if any.
  std::optional<int> WaitFor(std::chrono::milliseconds limit) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timespec time{seconds.count(), std::chrono::nanoseconds(limit - seconds).count()};
    const int signal = sigtimedwait(&signals_, nullptr, &time);
    return signal > 0 ? std::optional<int>(signal) : std::nullopt;
  }

 private:
  sigset_t signals_;
};

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_STOP_SIGNALS_H_
