#include <atomic>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/crew.h"

namespace trellis::engine::cpu {
namespace {

TEST(CpuCrew, EachTaskIsDoneOnceWhateverTheirNumber) {
  for (const int threads : {1, 2, 3, 5}) {
    Crew crew(threads);
    EXPECT_EQ(crew.threads(), threads);
    for (const int tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(tasks) + 1);
      crew.For(tasks, [&](int task, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        ++calls[static_cast<size_t>(task)];
      });
      for (int task = 0; task < tasks; ++task) EXPECT_EQ(calls[static_cast<size_t>(task)], 1) << task;
      EXPECT_EQ(calls.back(), 0);
    }
  }
}

TEST(CpuCrew, ManyShortRoundsKeepTheirWorkApart) {
  // A hand that comes late to a round must not take a task of the next one with the old round's work.
  Crew crew(3);
  constexpr int kRounds = 20000;
  std::atomic<int64_t> sum{0};
  int64_t expected = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int tasks = 1 + round % 4;
    std::atomic<int> here{0};
    crew.For(tasks, [&, round](int task, int) {
      sum += int64_t{round} * (task + 1);
      ++here;
    });
    EXPECT_EQ(here, tasks);
    expected += int64_t{round} * tasks * (tasks + 1) / 2;
  }
  EXPECT_EQ(sum, expected);
}

TEST(CpuCrew, NoTwoCallsAtATimeHaveTheSameThread) {
  Crew crew(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<int> overlaps{0};
  crew.For(5000, [&](int, int thread) {
    if (++inside[static_cast<size_t>(thread)] != 1) ++overlaps;
    --inside[static_cast<size_t>(thread)];
  });
  EXPECT_EQ(overlaps, 0);
}

TEST(CpuCrew, HandsStartAsTheyAreTold) {
  static std::atomic<int> started{0};
  started = 0;
  {
    Crew crew(3, [] { ++started; });
  }
  EXPECT_EQ(started, 2);
}

// A hand may be anywhere when the end comes: just started, taking a task, about to wait.
TEST(CpuCrew, EndsWhereverItsHandsAre) {
  std::atomic<int> calls{0};
  int wanted = 0;
  for (int n = 0; n < 20000; ++n) {
    Crew crew(3);
    for (int round = 0; round < n % 4; ++round) {
      crew.For(2 + n % 3, [&](int, int) { ++calls; });
      wanted += 2 + n % 3;
    }
  }
  EXPECT_EQ(calls.load(), wanted);
}

}  // namespace
}  // namespace trellis::engine::cpu
