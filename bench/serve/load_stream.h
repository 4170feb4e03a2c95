// One kind of traffic: how often, how long, how urgent, how impatient.
#ifndef TRELLIS_BENCH_SERVE_LOAD_STREAM_H_
#define TRELLIS_BENCH_SERVE_LOAD_STREAM_H_

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trellis/v1/inference.pb.h"

namespace trellis::bench {

struct Range {
  int32_t least = 1;
  int32_t most = 1;  // drawn evenly from both ends and all between
};

struct LoadStream {
  std::string name = "stream";
  double rate = 100;     // arrivals a second, at random times (a Poisson process)
  Range rows;            // of a request
  Range tokens{16, 16};  // of a row
  v1::Task task = v1::TASK_EMBED;
  v1::Priority priority = v1::PRIORITY_INTERACTIVE;
  std::chrono::milliseconds deadline{0};  // 0: none
  double cancel_share = 0;                // of its requests, given up after a time drawn from the next
  Range cancel_after_ms{0, 10};
};

// "key=value,...": name, rate, rows, tokens, task, priority, deadline_ms, cancel_share, cancel_after_ms; a
// range is LEAST:MOST or one number; a request has at most a million tokens. InvalidArgument names key and
// value.
absl::StatusOr<LoadStream> ParseLoadStream(std::string_view spec);

// Some requests of the stream to send over and over, so that making them costs nothing while time is
// measured.
std::vector<v1::InferRequest> MakeRequests(const LoadStream& stream, int32_t vocab_size,
                                           std::mt19937_64& random);

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_SERVE_LOAD_STREAM_H_
