// What happens when the device fails, call by call and status by status: a table of rules, and every
// combination tried.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/device_thread.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "tests/serve/engine/cuda/toy_engine.h"

namespace trellis::engine::cuda {
namespace {

constexpr DeviceStatus kPassing[] = {DeviceStatus::kOutOfMemory, DeviceStatus::kInvalid,
                                     DeviceStatus::kCaptureInvalidated, DeviceStatus::kCaptureUnsupported};
constexpr DeviceStatus kDeadly[] = {DeviceStatus::kLaunchFailed, DeviceStatus::kFatal};

enum class Then { kBatchIsRight, kBatchFails, kEngineDies };

// In which of a bucket's batches: the first runs eagerly, the second is captured, the third replayed.
enum class During { kEager, kCapture, kReplay };

struct Rule {
  FakeCall call;
  During during;
  Then then;  // of statuses that pass; deadly ones always kill
};

const Rule kRules[] = {
    {FakeCall::kEnqueueCopy, During::kEager, Then::kBatchFails},
    {FakeCall::kEnqueueKernel, During::kEager, Then::kBatchFails},
    {FakeCall::kEnqueueGemm, During::kEager, Then::kBatchFails},
    {FakeCall::kRecord, During::kEager, Then::kBatchFails},
    {FakeCall::kQuery, During::kEager, Then::kEngineDies},  // nobody can say when the slots are free
    {FakeCall::kBeginCapture, During::kCapture, Then::kBatchIsRight},
    {FakeCall::kEnqueueKernel, During::kCapture, Then::kBatchIsRight},
    {FakeCall::kEnqueueGemm, During::kCapture, Then::kBatchIsRight},
    {FakeCall::kEndCapture, During::kCapture, Then::kBatchIsRight},
    {FakeCall::kInstantiate, During::kCapture, Then::kBatchIsRight},
    {FakeCall::kEnqueueGraph, During::kCapture, Then::kBatchIsRight},
    {FakeCall::kEnqueueGraph, During::kReplay, Then::kBatchIsRight},
    {FakeCall::kEnqueueCopy, During::kReplay, Then::kBatchFails},
    {FakeCall::kEnqueueKernel, During::kReplay, Then::kBatchFails},  // of the head, behind the graph
    {FakeCall::kRecord, During::kReplay, Then::kBatchFails},
    {FakeCall::kQuery, During::kReplay, Then::kEngineDies},
};

struct Running {
  Running() : fake(std::make_shared<FakeDevice>()) {
    auto started = DeviceThread::Start(ToySetup(fake));
    EXPECT_TRUE(started.ok()) << started.status();
    thread = *std::move(started);
  }
  absl::Status Run(int32_t length) { return RunToy(*thread, ToyRows::Of({length, 3}, length)); }

  std::shared_ptr<FakeDevice> fake;
  std::unique_ptr<DeviceThread> thread;
};

void ExpectDead(Running& running, const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(running.Run(20).code(), absl::StatusCode::kUnavailable);
  // What is still enqueued on a dead device is never freed under it.
  running.thread.reset();
  EXPECT_EQ(running.fake->violations(), std::vector<std::string>());
}

void Check(const Rule& rule, DeviceStatus status) {
  SCOPED_TRACE(::testing::Message() << "call " << static_cast<int>(rule.call) << " during "
                                    << static_cast<int>(rule.during) << ": " << NameOf(status));
  Running running;
  for (int i = 0; i < static_cast<int>(rule.during); ++i) ASSERT_TRUE(running.Run(20 + i).ok());
  running.fake->Fail(rule.call, status);
  const absl::Status outcome = running.Run(30);
  if (IsFatal(status) || rule.then == Then::kEngineDies) return ExpectDead(running, outcome);
  if (rule.then == Then::kBatchIsRight) {
    EXPECT_TRUE(outcome.ok()) << outcome;
    EXPECT_EQ(running.thread->graph_counters().failures, 1);
  } else {
    EXPECT_EQ(outcome.code(), status == DeviceStatus::kOutOfMemory ? absl::StatusCode::kResourceExhausted
                                                                   : absl::StatusCode::kInternal)
        << outcome;
    EXPECT_NE(std::string(outcome.message()).find("2 rows and 33 tokens"), std::string::npos) << outcome;
  }
  // And then as if nothing had been.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(running.Run(40 + i).ok());
  running.thread.reset();
  ExpectClean(*running.fake);
}

TEST(Faults, EachHasItsConsequence) {
  for (const Rule& rule : kRules) {
    for (const DeviceStatus status : kPassing) Check(rule, status);
    for (const DeviceStatus status : kDeadly) Check(rule, status);
  }
}

TEST(Faults, NotReadyIsNone) {
  Running running;
  running.fake->Fail(FakeCall::kQuery, DeviceStatus::kNotReady, 1, 50);
  EXPECT_TRUE(running.Run(20).ok());
  running.thread.reset();
  ExpectClean(*running.fake);
}

TEST(Faults, AKernelThatDiesKillsWhatIsInFlightAndAllThatFollows) {
  Running running;
  ASSERT_TRUE(running.Run(20).ok());
  running.fake->Hold();
  const ToyRows rows = ToyRows::Of({20, 3});
  auto one = running.thread->Post(rows.view()), two = running.thread->Post(rows.view());
  ASSERT_TRUE(one.ok() && two.ok());
  running.fake->Fail(FakeCall::kExecution, DeviceStatus::kLaunchFailed, 2);
  running.fake->Release();
  EXPECT_EQ((*two)->Wait().code(), absl::StatusCode::kUnavailable);
  const absl::Status status = (*one)->Wait();
  EXPECT_EQ(status, absl::UnavailableError("cuda engine: a batch on the GPU: a kernel failed"));
  ExpectDead(running, status);
}

TEST(Faults, WhatArrivedBeforeTheDeviceDiedIsStillThere) {
  Running running;
  const ToyRows rows = ToyRows::Of({20, 3});
  auto arrived = running.thread->Post(rows.view());
  ASSERT_TRUE(arrived.ok());
  ASSERT_TRUE(Eventually([&] { return (*arrived)->Ready(); }));
  running.fake->Fail(FakeCall::kEnqueueCopy, DeviceStatus::kFatal);
  EXPECT_EQ(running.Run(20).code(), absl::StatusCode::kUnavailable);
  running.thread.reset();
  ExpectAnswers(**arrived, rows);
}

// The batch fails after some of it was enqueued, and even waiting for that fails: then the slots are nobody's
// any more.
TEST(Faults, WhatCannotBeWaitedForIsDead) {
  Running running;
  running.fake->Fail(FakeCall::kRecord, DeviceStatus::kInvalid);
  running.fake->Fail(FakeCall::kSynchronize, DeviceStatus::kInvalid);
  ExpectDead(running, running.Run(20));
}

// Each call that starting makes, failing: its error is said, and nothing of what was made before is left.
TEST(Faults, AStartThatFailsSaysWhyAndLeavesNothing) {
  const auto sample = std::make_shared<FakeDevice>();
  ASSERT_TRUE(DeviceThread::Start(ToySetup(sample)).ok());
  for (const FakeCall call : {FakeCall::kCreateStream, FakeCall::kAllocate, FakeCall::kAllocatePinned,
                              FakeCall::kCreateEvent, FakeCall::kEnqueueCopy}) {
    const int calls = sample->count(call);
    ASSERT_GT(calls, 0) << static_cast<int>(call);
    for (int nth = 1; nth <= calls; ++nth) {
      for (const DeviceStatus status :
           {DeviceStatus::kOutOfMemory, DeviceStatus::kInvalid, DeviceStatus::kFatal}) {
        const auto fake = std::make_shared<FakeDevice>();
        fake->Fail(call, status, nth);
        const auto thread = DeviceThread::Start(ToySetup(fake));
        const auto expected = status == DeviceStatus::kOutOfMemory ? absl::StatusCode::kResourceExhausted
                              : status == DeviceStatus::kInvalid   ? absl::StatusCode::kInternal
                                                                   : absl::StatusCode::kUnavailable;
        EXPECT_EQ(thread.status().code(), expected)
            << static_cast<int>(call) << " " << nth << " " << thread.status();
        if (status != DeviceStatus::kFatal) ExpectClean(*fake);
      }
    }
  }
}

TEST(Faults, ADeviceThatIsNotThereIsSaid) {
  DeviceSetup setup = ToySetup(std::make_shared<FakeDevice>());
  setup.open = []() -> absl::StatusOr<std::shared_ptr<Device>> {
    return absl::NotFoundError("cuda:0: no driver");
  };
  EXPECT_EQ(DeviceThread::Start(setup).status(), absl::NotFoundError("cuda:0: no driver"));
}

TEST(Faults, WithoutMemoryForGraphsEverythingIsEager) {
  Running running;
  running.fake->set_capacity(1);  // from now on
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(running.Run(20 + i).ok());
  EXPECT_EQ(running.thread->graph_counters().eager, 10);
  running.fake->set_capacity(FakeDevice::kCapacity);
  running.thread.reset();
  ExpectClean(*running.fake);
}

// What an end needs may fail too: no crash, and the process's end takes the rest.
TEST(Faults, AnEndThatFailsEnds) {
  for (const FakeCall call : {FakeCall::kSynchronize, FakeCall::kFree}) {
    for (const DeviceStatus status : {DeviceStatus::kInvalid, DeviceStatus::kLaunchFailed}) {
      Running running;
      EXPECT_TRUE(running.Run(20).ok());
      EXPECT_TRUE(running.Run(20).ok());
      running.fake->Fail(call, status, 1, 100);
      running.thread.reset();
      EXPECT_EQ(running.fake->violations(), std::vector<std::string>());
    }
  }
}

}  // namespace
}  // namespace trellis::engine::cuda
