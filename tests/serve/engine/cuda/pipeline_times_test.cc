#include "serve/engine/cuda/pipeline_times.h"

#include <chrono>
#include <memory>

#include "gtest/gtest.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "tests/serve/engine/cuda/toy_engine.h"

namespace trellis::engine::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// A clock that goes on by what the device was asked to do: so many nanoseconds a launch, a product or a
// graph.
PipelineTimes::Now ClockOf(const std::shared_ptr<FakeDevice>& fake, int64_t launch, int64_t graph) {
  return [=] {
    const int launches = fake->count(FakeCall::kEnqueueKernel) + fake->count(FakeCall::kEnqueueGemm);
    return Clock::time_point(
        std::chrono::nanoseconds(launch * launches + graph * fake->count(FakeCall::kEnqueueGraph)));
  };
}

// The toy model launches two kernels and a product in what is captured, and one kernel behind it.
TEST(MeasureInflection, MeasuresEagerAndReplayedBatches) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    auto thread = DeviceThread::Start(ToySetup(fake));
    ASSERT_TRUE(thread.ok());
    const auto found = MeasureInflection(**thread, ClockOf(fake, 4000, 5000));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->tokens, 640);        // the bucket of 600, the most that a batch may have
    ASSERT_EQ(found->probes.size(), 5u);  // 64, 128, 256, 512, 640
    for (const auto& probe : found->probes) {
      EXPECT_EQ(probe.eager, std::chrono::microseconds(16));
      EXPECT_EQ(probe.replay, std::chrono::microseconds(9));
    }
    // Its graphs are there: the first batch of a size that was measured is a replay.
    const int64_t eager = (*thread)->graph_counters().eager;
    EXPECT_TRUE(RunToy(**thread, ToyRows::Of({100})).ok());
    EXPECT_EQ((*thread)->graph_counters().eager, eager);
  }
  ExpectClean(*fake);
}

TEST(MeasureInflection, WithoutGainThereAreNoGraphs) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    auto thread = DeviceThread::Start(ToySetup(fake));
    ASSERT_TRUE(thread.ok());
    const auto found = MeasureInflection(**thread, ClockOf(fake, 1000, 5000));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->tokens, 0);
    const int64_t replays = (*thread)->graph_counters().replays;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(RunToy(**thread, ToyRows::Of({100})).ok());
    EXPECT_EQ((*thread)->graph_counters().replays, replays);
  }
  ExpectClean(*fake);
}

TEST(MeasureInflection, WhereNoGraphCanBeMadeThereIsNone) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    auto thread = DeviceThread::Start(ToySetup(fake));
    ASSERT_TRUE(thread.ok());
    fake->Fail(FakeCall::kInstantiate, DeviceStatus::kInvalid, 1, 1000);
    const auto found = MeasureInflection(**thread, ClockOf(fake, 4000, 5000));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->tokens, 0);
    EXPECT_TRUE(RunToy(**thread, ToyRows::Of({100})).ok());
  }
  ExpectClean(*fake);
}

TEST(MeasureInflection, ADeadDeviceIsSaid) {
  const auto fake = std::make_shared<FakeDevice>();
  auto thread = DeviceThread::Start(ToySetup(fake));
  ASSERT_TRUE(thread.ok());
  fake->Fail(FakeCall::kExecution, DeviceStatus::kLaunchFailed, 40);
  EXPECT_EQ(MeasureInflection(**thread, ClockOf(fake, 4000, 5000)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(RunToy(**thread, ToyRows::Of({100})).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace trellis::engine::cuda
