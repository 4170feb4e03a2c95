#include "bench/serve/gpu/step_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>

#include "bench/serve/gpu/step_rows.h"

namespace trellis::engine::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBefore = 4;  // eagerly, captured, and twice as a graph

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Steps on their way, as a server has them.
class Flight {
 public:
  explicit Flight(DeviceThread& thread) : thread_(thread) {}

  absl::Status Post(const Rows& step) {
    while (results_.size() >= static_cast<size_t>(thread_.limits().max_in_flight)) {
      if (auto status = LandOldest(); !status.ok()) return status;
    }
    auto result = thread_.Post(step.view());
    if (!result.ok()) return result.status();
    results_.push_back(*std::move(result));
    return absl::OkStatus();
  }
  absl::Status PostAll(const std::vector<Rows>& steps) {
    for (const Rows& step : steps) {
      if (auto status = Post(step); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  absl::Status LandAll() {
    while (!results_.empty()) {
      if (auto status = LandOldest(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status LandOldest() {
    auto status = results_.front()->Wait();
    results_.pop_front();
    return status;
  }

  DeviceThread& thread_;
  std::deque<std::unique_ptr<LazyResult>> results_;  // oldest first
};

absl::StatusOr<std::vector<Rows>> WarmSteps(DeviceThread& thread, Flight& flight, const Rows& rows) {
  auto steps = StepsOf(rows, thread.limits());
  if (!steps.ok()) return steps.status();
  for (int i = 0; i < kBefore; ++i) {
    if (auto status = flight.PostAll(*steps); !status.ok()) return status;
    if (auto status = flight.LandAll(); !status.ok()) return status;
  }
  return steps;
}

}  // namespace

double Percentile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(1.0, rank)) - 1];
}

absl::StatusOr<Latency> TimeLatency(DeviceThread& thread, const Rows& rows, const HowLong& how_long) {
  Flight flight(thread);
  const auto steps = WarmSteps(thread, flight, rows);
  if (!steps.ok()) return steps.status();
  std::vector<double> times;
  for (double sum = 0; sum < how_long.seconds || times.size() < static_cast<size_t>(how_long.least_runs);) {
    const auto begin = Clock::now();
    if (auto status = flight.PostAll(*steps); !status.ok()) return status;
    if (auto status = flight.LandAll(); !status.ok()) return status;
    times.push_back(SecondsSince(begin));
    sum += times.back();
  }
  std::sort(times.begin(), times.end());
  return Latency{static_cast<int>(times.size()), times.front(), Percentile(times, 0.5),
                 Percentile(times, 0.9), Percentile(times, 0.99)};
}

absl::StatusOr<Throughput> TimeThroughput(DeviceThread& thread, const Rows& rows, const HowLong& how_long) {
  Flight flight(thread);
  const auto steps = WarmSteps(thread, flight, rows);
  if (!steps.ok()) return steps.status();
  Throughput all;
  const auto begin = Clock::now();
  for (int runs = 0; runs < how_long.least_runs || SecondsSince(begin) < how_long.seconds; ++runs) {
    if (auto status = flight.PostAll(*steps); !status.ok()) return status;
    all.rows += static_cast<int64_t>(rows.tasks.size());
    all.tokens += static_cast<int64_t>(rows.ids.size());
  }
  if (auto status = flight.LandAll(); !status.ok()) return status;
  all.seconds = SecondsSince(begin);
  return all;
}

}  // namespace trellis::engine::cuda
