#include "serve/engine/cuda/pinned_ring.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "serve/engine/cuda/fake/fake_device.h"

namespace trellis::engine::cuda {
namespace {

class PinnedRingTest : public ::testing::Test {
 protected:
  PinnedRingTest() {
    EXPECT_EQ(fake_.CreateStream(&stream_), DeviceStatus::kOk);
    EXPECT_EQ(fake_.Allocate(sizeof(int), &memory_), DeviceStatus::kOk);
    auto ring = PinnedRing::Create(fake_, 2, sizeof(int), sizeof(int));
    EXPECT_TRUE(ring.ok()) << ring.status();
    ring_ = *std::move(ring);
  }
  // To the GPU and back, as a step does it.
  void Send(LazyTensor& tensor, int value) {
    std::memcpy(tensor.input().data, &value, sizeof value);
    tensor.SetOut();
    EXPECT_EQ(fake_.EnqueueCopy(stream_, memory_, tensor.input()), DeviceStatus::kOk);
    EXPECT_EQ(fake_.EnqueueCopy(stream_, tensor.output(), memory_), DeviceStatus::kOk);
    EXPECT_EQ(tensor.Seal(stream_), DeviceStatus::kOk);
  }
  int Received(const LazyTensor& tensor) {
    int value = 0;
    std::memcpy(&value, tensor.bytes().data(), sizeof value);
    return value;
  }
  void Await(LazyTensor& tensor) {
    while (tensor.Poll() == DeviceStatus::kNotReady) {
    }
  }

  FakeDevice fake_;
  StreamId stream_{};
  Buffer memory_;
  std::unique_ptr<PinnedRing> ring_;
};

TEST_F(PinnedRingTest, ResultsComeThroughTheirOwnSlots) {
  auto one = ring_->Take(), two = ring_->Take();
  ASSERT_TRUE(one.has_value() && two.has_value());
  Send(*one, 11);
  Send(*two, 22);  // packed while the first is on its way
  EXPECT_EQ(one->Poll(), DeviceStatus::kNotReady);
  Await(*one);
  Await(*two);
  EXPECT_EQ(Received(*one), 11);
  EXPECT_EQ(Received(*two), 22);
  EXPECT_TRUE(fake_.violations().empty());
}

TEST_F(PinnedRingTest, ASlotIsNotGivenAwayWhileItsResultIsUnread) {
  auto one = ring_->Take(), two = ring_->Take();
  Send(*one, 11);
  Send(*two, 22);
  Await(*two);
  EXPECT_FALSE(ring_->Take().has_value());
  EXPECT_EQ(Received(*two), 22);
  two.reset();  // read
  auto three = ring_->Take();
  ASSERT_TRUE(three.has_value());
  EXPECT_FALSE(ring_->Take().has_value());
  Send(*three, 33);
  Await(*three);
  Await(*one);
  EXPECT_EQ(Received(*one), 11);
  EXPECT_EQ(Received(*three), 33);
  EXPECT_TRUE(fake_.violations().empty());
}

TEST_F(PinnedRingTest, ASlotIsNotGivenAwayWhileTheGpuIsAtIt) {
  auto one = ring_->Take(), two = ring_->Take();
  Send(*one, 11);
  one.reset();  // nobody wants it any more
  EXPECT_FALSE(ring_->Take().has_value());
  fake_.Hold();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ring_->Take().has_value());
  fake_.Release();
  std::optional<LazyTensor> again = ring_->Take();
  ASSERT_TRUE(again.has_value());
  Send(*again, 33);
  Await(*again);
  EXPECT_EQ(Received(*again), 33);
  EXPECT_TRUE(fake_.violations().empty());
}

// What the two tests above would miss if slots were given away at once: the fake sees it, and the bytes are
// wrong.
TEST_F(PinnedRingTest, GivenAwayAtOnceItIsSeen) {
  auto one = ring_->Take();
  Send(*one, 11);
  Send(*one, 22);  // the same slot, as if it had been free
  Await(*one);
  EXPECT_EQ(fake_.violations(),
            std::vector<std::string>{"copy: the pinned memory changed before it was copied"});
}

TEST_F(PinnedRingTest, ASlotThatNoEventStandsBehindIsLost) {
  {
    auto one = ring_->Take();
    one->SetOut();
  }
  auto two = ring_->Take();
  EXPECT_TRUE(two.has_value());
  EXPECT_FALSE(ring_->Take().has_value());
}

TEST_F(PinnedRingTest, GivesItsMemoryBack) {
  EXPECT_EQ(fake_.allocations(), 1u + 4u);
  ring_.reset();
  EXPECT_EQ(fake_.allocations(), 1u);
}

TEST(PinnedRing, WhatTheDeviceRefusesIsSaidAndGivenBack) {
  for (int nth = 1; nth <= 4; ++nth) {
    FakeDevice fake;
    fake.Fail(FakeCall::kAllocatePinned, DeviceStatus::kOutOfMemory, nth);
    const auto ring = PinnedRing::Create(fake, 2, 100, 200);
    ASSERT_FALSE(ring.ok());
    EXPECT_EQ(ring.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(std::string(ring.status().message()),
              std::string("cuda engine: pinned memory of a step: out of memory for ") +
                  (nth % 2 == 1 ? "100" : "200") + " bytes");
    EXPECT_EQ(fake.allocations(), 0u);
  }
}

}  // namespace
}  // namespace trellis::engine::cuda
