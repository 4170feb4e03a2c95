// Places for requests: who is refused, who waits, in which order, and what ends the waiting.
#include "serve/gateway/request_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace trellis::gateway {
namespace {

using Taken = RequestSlots::Taken;

class Waiting : public ::testing::Test {
 protected:
  RequestSlots::Waiting Wait(int who) {
    return slots_.WaitForPlace([this, who](Taken taken) { heard_.emplace_back(who, taken); });
  }
  using Heard = std::vector<std::pair<int, Taken>>;

  RequestSlots slots_{2};
  Heard heard_;
};

TEST_F(Waiting, NobodyWaitsWhileThereIsAPlace) {
  Wait(1);
  EXPECT_EQ(heard_, (Heard{{1, Taken::kYes}}));
  EXPECT_EQ(slots_.Take(), Taken::kYes);
  EXPECT_EQ(slots_.Take(), Taken::kFull);
}

TEST_F(Waiting, PlacesGoInTheOrderOfAskingAndPassNobody) {
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  Wait(1);
  Wait(2);
  EXPECT_TRUE(heard_.empty());
  slots_.Release();
  EXPECT_EQ(heard_, (Heard{{1, Taken::kYes}}));
  EXPECT_EQ(slots_.Take(), Taken::kFull) << "the place was handed on";
  slots_.Release();
  EXPECT_EQ(heard_.back(), (std::pair{2, Taken::kYes}));
  EXPECT_FALSE(slots_.WaitForNone(std::chrono::milliseconds(0)));
  slots_.Release();
  slots_.Release();
  EXPECT_TRUE(slots_.WaitForNone(std::chrono::milliseconds(0)));
}

TEST_F(Waiting, WhoStopsHearsNothing) {
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  const RequestSlots::Waiting first = Wait(1);
  Wait(2);
  EXPECT_TRUE(slots_.StopWaiting(first));
  EXPECT_FALSE(slots_.StopWaiting(first));
  EXPECT_FALSE(slots_.StopWaiting(0));
  slots_.Release();
  EXPECT_EQ(heard_, (Heard{{2, Taken::kYes}}));
}

TEST_F(Waiting, TheEndIsToldToAllWhoWait) {
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  Wait(1);
  Wait(2);
  slots_.Close();
  EXPECT_EQ(heard_, (Heard{{1, Taken::kClosed}, {2, Taken::kClosed}}));
  Wait(3);
  EXPECT_EQ(heard_.back(), (std::pair{3, Taken::kClosed}));
  EXPECT_EQ(slots_.Take(), Taken::kClosed);
  slots_.Release();
  slots_.Release();
  EXPECT_TRUE(slots_.WaitForNone(std::chrono::milliseconds(0)));
}

TEST_F(Waiting, IsBounded) {
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  ASSERT_EQ(slots_.Take(), Taken::kYes);
  for (size_t i = 0; i < RequestSlots::kMostWaiting; ++i) Wait(1);
  EXPECT_TRUE(heard_.empty());
  Wait(2);
  EXPECT_EQ(heard_, (Heard{{2, Taken::kFull}}));
}

TEST(RequestSlots, ManyThreadsNeverHaveMoreThanThereAre) {
  RequestSlots slots(3);
  std::atomic<int> inside{0}, most{0}, served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        std::promise<void> placed;
        slots.WaitForPlace([&](Taken taken) {
          EXPECT_EQ(taken, Taken::kYes);
          placed.set_value();
        });
        placed.get_future().get();
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        ++served;
        --inside;
        slots.Release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 4000);
  EXPECT_LE(most, 3);
  EXPECT_TRUE(slots.WaitForNone(std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace trellis::gateway
