#include "serve/engine/cuda/graph_cache.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/fake/fake_device.h"

namespace trellis::engine::cuda {
namespace {

using Path = GraphCache::Path;

// A forward of three kernels that count how often they ran, on a fake GPU.
class GraphCacheTest : public ::testing::Test {
 protected:
  GraphCacheTest() {
    EXPECT_EQ(fake_.CreateStream(&stream_), DeviceStatus::kOk);
    EXPECT_EQ(fake_.Allocate(sizeof(int32_t), &counter_), DeviceStatus::kOk);
    *counter_.as<int32_t>() = 0;
    options_.reserve_bytes = 0;
  }
  void Make() {
    cache_ = std::make_unique<GraphCache>(fake_, stream_, options_, [this](StreamId stream, Bucket) {
      for (int i = 0; i < kKernels; ++i) {
        const Launch launch{"count", {counter_}, {counter_}, [this](void*) { ++*counter_.as<int32_t>(); }};
        if (auto status = fake_.EnqueueKernel(stream, launch); status != DeviceStatus::kOk) return status;
      }
      return DeviceStatus::kOk;
    });
  }
  // That the batch was computed, once, however it got there.
  Path Run(Bucket bucket) {
    const int32_t before = *counter_.as<int32_t>();
    const GraphCache::Outcome outcome = cache_->Run(bucket);
    EXPECT_EQ(outcome.status, DeviceStatus::kOk) << NameOf(outcome.status);
    EXPECT_EQ(fake_.Synchronize(stream_), DeviceStatus::kOk);
    EXPECT_EQ(*counter_.as<int32_t>(), before + kKernels);
    return outcome.path;
  }
  void TearDown() override {
    cache_.reset();
    EXPECT_EQ(fake_.live_execs(), 0u);
    EXPECT_EQ(fake_.violations(), std::vector<std::string>());
  }

  static constexpr int kKernels = 3;
  static constexpr size_t kGraphBytes = kKernels * FakeDevice::kExecBytesPerNode;
  static constexpr Bucket kBucket{4, 128};
  FakeDevice fake_;
  StreamId stream_{};
  Buffer counter_;
  GraphCacheOptions options_;
  std::unique_ptr<GraphCache> cache_;
};

TEST_F(GraphCacheTest, FirstEagerThenCapturedThenReplayed) {
  Make();
  EXPECT_EQ(Run(kBucket), Path::kEager);
  EXPECT_EQ(Run(kBucket), Path::kCaptured);
  EXPECT_EQ(Run(kBucket), Path::kReplayed);
  EXPECT_EQ(Run(kBucket), Path::kReplayed);
  EXPECT_EQ(Run({4, 192}), Path::kEager);  // another bucket begins anew
  EXPECT_EQ(fake_.count(FakeCall::kEnqueueKernel), 3 * kKernels);
  const GraphCounters counters = cache_->counters();
  EXPECT_EQ(counters.eager, 2);
  EXPECT_EQ(counters.captures, 1);
  EXPECT_EQ(counters.replays, 3);
  EXPECT_EQ(counters.graphs, 1);
  EXPECT_EQ(counters.bytes, kGraphBytes);
  EXPECT_EQ(counters.replays_by_bucket, (std::map<Bucket, int64_t>{{kBucket, 3}}));
}

TEST_F(GraphCacheTest, AboveTheInflectionPointThereAreNoGraphs) {
  options_.max_tokens = 128;
  Make();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run({4, 192}), Path::kEager);
  EXPECT_EQ(fake_.count(FakeCall::kBeginCapture), 0);
  EXPECT_EQ(Run(kBucket), Path::kEager);
  EXPECT_EQ(Run(kBucket), Path::kCaptured);
}

TEST_F(GraphCacheTest, TheOneUsedLongestAgoGoesWhenThereAreTooMany) {
  options_.max_graphs = 2;
  Make();
  const Bucket a{1, 64}, b{1, 128}, c{1, 192};
  for (const Bucket& bucket : {a, a, b, b, a}) Run(bucket);
  EXPECT_EQ(Run(c), Path::kEager);
  EXPECT_EQ(Run(c), Path::kCaptured);  // in b's place
  EXPECT_EQ(cache_->counters().evictions, 1);
  EXPECT_EQ(fake_.live_execs(), 2u);
  EXPECT_EQ(Run(a), Path::kReplayed);
  EXPECT_EQ(Run(b), Path::kCaptured);  // in c's; seen before, so at once
  EXPECT_EQ(Run(a), Path::kReplayed);
  EXPECT_EQ(Run(c), Path::kCaptured);
}

TEST_F(GraphCacheTest, MemoryIsBounded) {
  options_.max_bytes = 2 * kGraphBytes;
  fake_.set_exec_budget(options_.max_bytes);  // else a violation
  Make();
  for (int round = 0; round < 3; ++round) {
    for (const int32_t tokens : {64, 128, 192, 256}) Run({1, tokens});
  }
  EXPECT_EQ(cache_->counters().bytes, 2 * kGraphBytes);
  EXPECT_EQ(fake_.live_execs(), 2u);
}

TEST_F(GraphCacheTest, AGraphLargerThanAllMayTakeIsNotKept) {
  options_.max_bytes = kGraphBytes - 1;
  Make();
  EXPECT_EQ(Run(kBucket), Path::kEager);
  EXPECT_EQ(Run(kBucket), Path::kEagerAfterFailure);
  EXPECT_EQ(fake_.live_execs(), 0u);
}

TEST_F(GraphCacheTest, NoGraphIsMadeWhenTheGpuIsAlmostFull) {
  options_.reserve_bytes = 1000;
  fake_.set_capacity(sizeof(int32_t) + 999);
  Make();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run(kBucket), Path::kEager);
  EXPECT_EQ(cache_->counters().failures, 0);
}

TEST_F(GraphCacheTest, WithoutMemoryOneGraphGoesAndItIsTriedOnceMore) {
  Make();
  const Bucket a{1, 64}, b{1, 128};
  for (const Bucket& bucket : {a, a, b}) Run(bucket);
  fake_.Fail(FakeCall::kInstantiate, DeviceStatus::kOutOfMemory);
  EXPECT_EQ(Run(b), Path::kCaptured);
  EXPECT_EQ(cache_->counters().evictions, 1);
  EXPECT_EQ(cache_->counters().failures, 0);
  fake_.Fail(FakeCall::kInstantiate, DeviceStatus::kOutOfMemory, 1, 2);
  EXPECT_EQ(Run(a), Path::kEagerAfterFailure);  // twice without
  EXPECT_EQ(cache_->counters().graphs, 0);
}

TEST_F(GraphCacheTest, MemoryThatIsReallyGoneIsMadeByAnEviction) {
  fake_.set_capacity(sizeof(int32_t) + kGraphBytes);
  Make();
  const Bucket a{1, 64}, b{1, 128};
  for (const Bucket& bucket : {a, a, b}) Run(bucket);
  EXPECT_EQ(Run(b), Path::kCaptured);
  EXPECT_EQ(fake_.live_execs(), 1u);
}

// Tried again after 32, 64 and 128 batches, of any bucket, and then never.
TEST_F(GraphCacheTest, AFailureIsTriedAgainEverLaterAndThenNoMore) {
  Make();
  fake_.Fail(FakeCall::kInstantiate, DeviceStatus::kInvalid, 1, 1000);
  std::vector<int> tried;
  for (int i = 1; i <= 1000; ++i) {
    if (Run(kBucket) == Path::kEagerAfterFailure) tried.push_back(i);
  }
  EXPECT_EQ(tried, (std::vector<int>{2, 2 + 32, 2 + 32 + 64, 2 + 32 + 64 + 128}));
  EXPECT_EQ(cache_->counters().failures, 4);
  EXPECT_EQ(cache_->counters().eager, 1000);
}

TEST_F(GraphCacheTest, AfterAFailureItMayWork) {
  Make();
  fake_.Fail(FakeCall::kEndCapture, DeviceStatus::kCaptureInvalidated);
  EXPECT_EQ(Run(kBucket), Path::kEager);
  EXPECT_EQ(Run(kBucket), Path::kEagerAfterFailure);
  for (int i = 0; i < 31; ++i) EXPECT_EQ(Run(kBucket), Path::kEager);
  EXPECT_EQ(Run(kBucket), Path::kCaptured);
  EXPECT_EQ(Run(kBucket), Path::kReplayed);
}

// Every call that a graph is made of and launched with, and every way that it fails but death: the batch is
// computed, the stream captures no more, and the rest is as after one failure.
TEST_F(GraphCacheTest, WhateverFailsTheBatchIsComputed) {
  const FakeCall calls[] = {FakeCall::kBeginCapture, FakeCall::kEnqueueKernel, FakeCall::kEndCapture,
                            FakeCall::kInstantiate, FakeCall::kEnqueueGraph};
  const DeviceStatus statuses[] = {DeviceStatus::kOutOfMemory, DeviceStatus::kInvalid,
                                   DeviceStatus::kCaptureInvalidated, DeviceStatus::kCaptureUnsupported};
  int32_t tokens = 0;
  for (const FakeCall call : calls) {
    for (const DeviceStatus status : statuses) {
      cache_.reset();
      Make();
      const Bucket bucket{1, tokens += 64};
      EXPECT_EQ(Run(bucket), Path::kEager);
      fake_.Fail(call, status);
      EXPECT_EQ(Run(bucket), Path::kEagerAfterFailure) << static_cast<int>(call) << " " << NameOf(status);
      EXPECT_EQ(cache_->counters().failures, 1);
      EXPECT_EQ(cache_->counters().graphs, 0);
      EXPECT_EQ(Run(bucket), Path::kEager);
    }
  }
}

TEST_F(GraphCacheTest, AReplayThatFailsIsRunEagerlyAndItsGraphGoes) {
  Make();
  Run(kBucket);
  Run(kBucket);
  fake_.Fail(FakeCall::kEnqueueGraph, DeviceStatus::kOutOfMemory);
  EXPECT_EQ(Run(kBucket), Path::kEagerAfterFailure);
  EXPECT_EQ(fake_.live_execs(), 0u);
}

TEST_F(GraphCacheTest, DeathIsNotCoveredUp) {
  for (const FakeCall call : {FakeCall::kBeginCapture, FakeCall::kEnqueueKernel, FakeCall::kEndCapture,
                              FakeCall::kInstantiate, FakeCall::kEnqueueGraph}) {
    FakeDevice fake;
    StreamId stream{};
    ASSERT_EQ(fake.CreateStream(&stream), DeviceStatus::kOk);
    GraphCache cache(fake, stream, options_, [&fake](StreamId on, Bucket) {
      return fake.EnqueueKernel(on, {"nothing", {}, {}, [](void*) {}});
    });
    ASSERT_EQ(cache.Run(kBucket).status, DeviceStatus::kOk);
    fake.Fail(call, DeviceStatus::kLaunchFailed);
    EXPECT_TRUE(IsFatal(cache.Run(kBucket).status)) << static_cast<int>(call);
    EXPECT_TRUE(IsFatal(cache.Run(kBucket).status)) << static_cast<int>(call);
  }
}

TEST_F(GraphCacheTest, AnEagerFailureIsTheBatchs) {
  Make();
  fake_.Fail(FakeCall::kEnqueueKernel, DeviceStatus::kInvalid);
  EXPECT_EQ(cache_->Run(kBucket).status, DeviceStatus::kInvalid);
}

}  // namespace
}  // namespace trellis::engine::cuda
