// What became of a stream's requests.
#ifndef TRELLIS_BENCH_SERVE_LOAD_TALLY_H_
#define TRELLIS_BENCH_SERVE_LOAD_TALLY_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "grpcpp/support/status.h"
#include "trellis/v1/inference.pb.h"

namespace trellis::bench {

class LoadTally {
 public:
  void Skipped() {
    const std::lock_guard lock(mutex_);
    ++skipped_;
  }
  // `latency` counts from when the request was due, not from when it was sent: a generator that cannot keep
  // up shows.
  void Ended(const grpc::Status& status, const v1::InferRequest& request, const v1::InferReply& reply,
             std::chrono::nanoseconds latency);

  // How many calls ended, and how many of them OK.
  int64_t ended() const;
  int64_t answered() const;

  // One JSON object; `seconds`: from the first moment to the last answer.
  std::string Json(const std::string& name, double seconds) const;

 private:
  mutable std::mutex mutex_;
  int64_t skipped_ = 0;
  std::array<int64_t, 17> by_code_{};
  std::array<std::string, 17> message_;  // the first of each code
  int64_t rows_ = 0, tokens_ = 0, row_failures_ = 0;
  int64_t malformed_ = 0;          // OK, but not what was asked for
  std::vector<float> latency_ms_;  // of those that ended OK
  double queue_ms_ = 0, forward_ms_ = 0, total_ms_ = 0;
};

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_SERVE_LOAD_TALLY_H_
