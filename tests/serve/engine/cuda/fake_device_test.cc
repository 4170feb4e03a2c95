// Each rule of CUDA, and each of our own, broken once: what the other tests of this room rely on when they
// expect that no rule was broken. docs.nvidia.com/cuda, "CUDA Graphs" and "Stream capture", has CUDA's.
#include "serve/engine/cuda/fake/fake_device.h"

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/emulation/half_rounding.h"

namespace trellis::engine::cuda {
namespace {

class FakeDeviceRules : public ::testing::Test {
 protected:
  FakeDeviceRules() {
    EXPECT_EQ(fake_.CreateStream(&stream_), DeviceStatus::kOk);
    EXPECT_EQ(fake_.CreateEvent(&event_), DeviceStatus::kOk);
    EXPECT_EQ(fake_.Allocate(64, &memory_), DeviceStatus::kOk);
    EXPECT_EQ(fake_.AllocatePinned(64, &pinned_), DeviceStatus::kOk);
  }
  Launch Touch(const char* kernel, Buffer buffer) {
    return {kernel, {buffer}, {buffer}, [buffer](void*) { ++*buffer.as<uint8_t>(); }};
  }
  // One kernel, run once before, as a graph.
  ExecId Captured(StreamId stream, Buffer buffer) {
    EXPECT_EQ(fake_.EnqueueKernel(stream, Touch("touch", buffer)), DeviceStatus::kOk);
    EXPECT_EQ(fake_.BeginCapture(stream), DeviceStatus::kOk);
    EXPECT_EQ(fake_.EnqueueKernel(stream, Touch("touch", buffer)), DeviceStatus::kOk);
    GraphId graph{};
    EXPECT_EQ(fake_.EndCapture(stream, &graph), DeviceStatus::kOk);
    ExecId exec{};
    EXPECT_EQ(fake_.Instantiate(graph, &exec), DeviceStatus::kOk);
    fake_.DestroyGraph(graph);
    return exec;
  }
  void ExpectViolation(const std::string& text) {
    const auto violations = fake_.violations();
    ASSERT_EQ(violations.size(), 1u) << ::testing::PrintToString(violations);
    EXPECT_NE(violations[0].find(text), std::string::npos) << violations[0];
  }

  FakeDevice fake_;
  StreamId stream_{};
  EventId event_{};
  Buffer memory_, pinned_;
};

TEST_F(FakeDeviceRules, WorkIsDoneWhenItIsWaitedForAndNotBefore) {
  *pinned_.as<uint8_t>() = 7;
  Buffer back;
  ASSERT_EQ(fake_.AllocatePinned(64, &back), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueCopy(stream_, memory_, pinned_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueCopy(stream_, back, memory_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Record(stream_, event_), DeviceStatus::kOk);
  EXPECT_EQ(fake_.Query(event_), DeviceStatus::kNotReady);
  EXPECT_EQ(*back.as<uint8_t>(), 0xff);
  EXPECT_EQ(fake_.Query(event_), DeviceStatus::kOk);
  EXPECT_EQ(*back.as<uint8_t>(), 8);
  EXPECT_TRUE(fake_.violations().empty());
}

TEST_F(FakeDeviceRules, AnEventIsWhatWasRecordedLast) {
  ASSERT_EQ(fake_.Record(stream_, event_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Wait(event_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Record(stream_, event_), DeviceStatus::kOk);
  EXPECT_EQ(*memory_.as<uint8_t>(), 0xff);
  ASSERT_EQ(fake_.Wait(event_), DeviceStatus::kOk);
  EXPECT_EQ(*memory_.as<uint8_t>(), 0);  // 255 + 1
}

// The bug that a ring of slots is there to prevent, written down: the staging block is filled again before
// its copy ran.
TEST_F(FakeDeviceRules, PinnedMemoryThatChangesBeforeItsCopyIsSeen) {
  *pinned_.as<uint8_t>() = 7;
  ASSERT_EQ(fake_.EnqueueCopy(stream_, memory_, pinned_), DeviceStatus::kOk);
  *pinned_.as<uint8_t>() = 9;
  ASSERT_EQ(fake_.Synchronize(stream_), DeviceStatus::kOk);
  EXPECT_EQ(*memory_.as<uint8_t>(), 9);  // of the wrong batch
  ExpectViolation("the pinned memory changed before it was copied");
}

TEST_F(FakeDeviceRules, WhatACaptureForbidsSpoilsIt) {
  const auto forbidden = std::vector<std::pair<const char*, std::function<DeviceStatus()>>>{
      {"Allocate",
       [&] {
         Buffer b;
         return fake_.Allocate(8, &b);
       }},
      {"AllocatePinned",
       [&] {
         Buffer b;
         return fake_.AllocatePinned(8, &b);
       }},
      {"Free", [&] { return fake_.Free(memory_); }},
      {"CreateStream",
       [&] {
         StreamId s;
         return fake_.CreateStream(&s);
       }},
      {"CreateEvent",
       [&] {
         EventId e;
         return fake_.CreateEvent(&e);
       }},
      {"Query", [&] { return fake_.Query(event_); }},
      {"Wait", [&] { return fake_.Wait(event_); }},
      {"Synchronize", [&] { return fake_.Synchronize(stream_); }},
      {"PrepareGemm",
       [&] {
         return fake_.PrepareGemm({1, 1, 1});
       }},
      {"BeginCapture", [&] { return fake_.BeginCapture(stream_); }},
      {"Instantiate",
       [&] {
         ExecId e;
         return fake_.Instantiate(GraphId{1}, &e);
       }},
      {"EnqueueGraph", [&] { return fake_.EnqueueGraph(stream_, ExecId{1}); }},
  };
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk);
  for (size_t i = 0; i < forbidden.size(); ++i) {
    const auto& [name, call] = forbidden[i];
    ASSERT_EQ(fake_.BeginCapture(stream_), DeviceStatus::kOk);
    EXPECT_EQ(call(), DeviceStatus::kCaptureUnsupported) << name;
    EXPECT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kCaptureInvalidated)
        << name;
    GraphId graph{};
    EXPECT_EQ(fake_.EndCapture(stream_, &graph), DeviceStatus::kCaptureInvalidated) << name;
    ASSERT_EQ(fake_.violations().size(), i + 1) << name;
    EXPECT_EQ(fake_.violations().back(), std::string(name) + " during a capture");
    // The stream is as before.
    EXPECT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk) << name;
  }
}

TEST_F(FakeDeviceRules, TheDefaultStreamIsNotCaptured) {
  EXPECT_EQ(fake_.BeginCapture(kDefaultStream), DeviceStatus::kCaptureUnsupported);
  ExpectViolation("default stream");
}

TEST_F(FakeDeviceRules, AKernelIsNotLaunchedFirstInACapture) {
  ASSERT_EQ(fake_.BeginCapture(stream_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("cold", memory_)), DeviceStatus::kOk);
  ExpectViolation("cold: first launched in a capture");
}

TEST_F(FakeDeviceRules, AnAlgorithmIsNotLookedForInACapture) {
  ASSERT_EQ(fake_.BeginCapture(stream_), DeviceStatus::kOk);
  const GemmCall call{{1, 1, 1, HalfType::kBf16, GemmBias::kNone}, memory_, memory_, {}, memory_, memory_};
  EXPECT_EQ(fake_.EnqueueGemm(stream_, call), DeviceStatus::kCaptureUnsupported);
  ExpectViolation("algorithm");
}

TEST_F(FakeDeviceRules, AnEmptyGraphIsSeen) {
  StreamId other{};
  ASSERT_EQ(fake_.CreateStream(&other), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk);
  ASSERT_EQ(fake_.BeginCapture(stream_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueKernel(other, Touch("touch", memory_)), DeviceStatus::kOk);  // stale
  GraphId graph{};
  ASSERT_EQ(fake_.EndCapture(stream_, &graph), DeviceStatus::kOk);
  ExpectViolation("empty graph");
}

TEST_F(FakeDeviceRules, OnlyTheGpusAndPinnedMemoryIsCopied) {
  std::vector<std::byte> pageable(64);
  EXPECT_EQ(fake_.EnqueueCopy(stream_, memory_, {pageable.data(), 64}), DeviceStatus::kInvalid);
  ExpectViolation("neither the GPU's nor pinned");
  ASSERT_EQ(fake_.BeginCapture(stream_), DeviceStatus::kOk);
  EXPECT_EQ(fake_.EnqueueCopy(stream_, memory_, {pageable.data(), 64}), DeviceStatus::kCaptureUnsupported);
}

TEST_F(FakeDeviceRules, MemoryOfALiveGraphIsNotFreed) {
  const ExecId exec = Captured(stream_, memory_);
  ASSERT_EQ(fake_.Synchronize(stream_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Free(memory_), DeviceStatus::kOk);
  ExpectViolation("Free of memory that graph");
  ASSERT_EQ(fake_.EnqueueGraph(stream_, exec), DeviceStatus::kOk);
  EXPECT_GE(fake_.violations().size(), 2u);  // and its launch touches nothing that is there
  EXPECT_NE(fake_.violations().back().find("not allocated"), std::string::npos);
}

TEST_F(FakeDeviceRules, MemoryOfWaitingWorkIsNotFreed) {
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Free(memory_), DeviceStatus::kOk);
  ExpectViolation("Free of memory that touch waits to use");
}

TEST_F(FakeDeviceRules, AWorkspaceBelongsToOneStream) {
  StreamId other{};
  ASSERT_EQ(fake_.CreateStream(&other), DeviceStatus::kOk);
  const GemmCall call{{1, 1, 1, HalfType::kBf16, GemmBias::kNone}, memory_, memory_, {}, memory_, memory_};
  ASSERT_EQ(fake_.EnqueueGemm(stream_, call), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueGemm(other, call), DeviceStatus::kOk);
  ExpectViolation("one workspace on two streams");
}

TEST_F(FakeDeviceRules, AnArenaBelongsToTheGraphsOfOneStream) {
  StreamId other{};
  ASSERT_EQ(fake_.CreateStream(&other), DeviceStatus::kOk);
  const ExecId one = Captured(stream_, memory_.Part(0, 32)), two = Captured(other, memory_.Part(32, 32));
  ASSERT_EQ(fake_.EnqueueGraph(stream_, one), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueGraph(other, two), DeviceStatus::kOk);
  ExpectViolation("one arena on two streams");
}

TEST_F(FakeDeviceRules, AGraphDoesNotOverlapItself) {
  StreamId other{};
  ASSERT_EQ(fake_.CreateStream(&other), DeviceStatus::kOk);
  Buffer only_pinned = pinned_;  // so that the rule of the arena has nothing to say
  const ExecId exec = Captured(stream_, only_pinned);
  ASSERT_EQ(fake_.EnqueueGraph(stream_, exec), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueGraph(other, exec), DeviceStatus::kOk);
  ExpectViolation("overlaps itself");
}

TEST_F(FakeDeviceRules, GraphsKeepToTheirBudget) {
  fake_.set_exec_budget(FakeDevice::kExecBytesPerNode);
  const ExecId one = Captured(stream_, memory_), two = Captured(stream_, memory_);
  ASSERT_EQ(fake_.EnqueueGraph(stream_, one), DeviceStatus::kOk);
  ExpectViolation("graphs take 131072 bytes, expected at most 65536");
  fake_.DestroyExec(two);
  ASSERT_EQ(fake_.EnqueueGraph(stream_, one), DeviceStatus::kOk);
  EXPECT_EQ(fake_.violations().size(), 1u);
}

TEST_F(FakeDeviceRules, ADestroyedGraphIsFreedOnceItHasRun) {
  const size_t before = fake_.FreeBytes();
  const ExecId exec = Captured(stream_, memory_);
  ASSERT_EQ(fake_.EnqueueGraph(stream_, exec), DeviceStatus::kOk);
  fake_.DestroyExec(exec);
  EXPECT_EQ(fake_.FreeBytes(), before - FakeDevice::kExecBytesPerNode);
  ASSERT_EQ(fake_.Synchronize(stream_), DeviceStatus::kOk);
  EXPECT_EQ(fake_.FreeBytes(), before);
  EXPECT_TRUE(fake_.violations().empty());
  EXPECT_EQ(fake_.EnqueueGraph(stream_, exec), DeviceStatus::kInvalid);
  ExpectViolation("destroyed");
}

TEST_F(FakeDeviceRules, AnEventOfACaptureIsNotAskedAbout) {
  const ExecId exec = Captured(stream_, memory_);
  ASSERT_EQ(fake_.BeginCapture(stream_), DeviceStatus::kOk);
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Record(stream_, event_), DeviceStatus::kOk);
  GraphId graph{};
  ASSERT_EQ(fake_.EndCapture(stream_, &graph), DeviceStatus::kOk);
  EXPECT_EQ(fake_.Query(event_), DeviceStatus::kInvalid);
  ExpectViolation("recorded during a capture");
  fake_.DestroyExec(exec);
}

TEST_F(FakeDeviceRules, ADeadKernelPoisonsEverything) {
  fake_.Fail(FakeCall::kExecution, DeviceStatus::kLaunchFailed);
  ASSERT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kOk);
  EXPECT_EQ(fake_.Synchronize(stream_), DeviceStatus::kLaunchFailed);
  EXPECT_EQ(*memory_.as<uint8_t>(), 0xff);
  EXPECT_EQ(fake_.EnqueueKernel(stream_, Touch("touch", memory_)), DeviceStatus::kFatal);
  Buffer more;
  EXPECT_EQ(fake_.Allocate(8, &more), DeviceStatus::kFatal);
}

TEST_F(FakeDeviceRules, OneThreadMakesAllCalls) {
  std::thread([this] { (void)fake_.Query(event_); }).join();
  ExpectViolation("Query by another thread");
}

TEST_F(FakeDeviceRules, GridsAreWhatCudaAllows) {
  Launch launch = Touch("touch", memory_);
  launch.grid = {1, 65536, 1};
  EXPECT_EQ(fake_.EnqueueKernel(stream_, launch), DeviceStatus::kInvalid);
  launch.grid = {0, 1, 1};
  EXPECT_EQ(fake_.EnqueueKernel(stream_, launch), DeviceStatus::kInvalid);
  EXPECT_EQ(fake_.violations().size(), 2u);
}

TEST_F(FakeDeviceRules, MemoryRunsOut) {
  fake_.set_capacity(1024);
  Buffer buffer;
  EXPECT_EQ(fake_.Allocate(2048, &buffer), DeviceStatus::kOutOfMemory);
  EXPECT_EQ(fake_.Allocate(1024 - 64, &buffer), DeviceStatus::kOk);
  EXPECT_EQ(fake_.FreeBytes(), 0u);
}

// output = input * weight^T + bias, in float, rounded once: 1 + 2^-9 + 2^-9 is 1 + 2^-8, half of bf16's step
// at 1, and falls to 1, the even one; a bit more and it is 1 + 2^-7. Rounded twice, the terms would be lost
// one by one.
TEST_F(FakeDeviceRules, AProductIsRoundedOnce) {
  const auto bf16 = [](float value) { return emulation::Bf16OfFloat(value); };
  Buffer input, weight, bias, output;
  for (Buffer* const buffer : {&input, &weight, &bias, &output}) {
    ASSERT_EQ(fake_.AllocatePinned(16, buffer), DeviceStatus::kOk);
  }
  const float half_step = 0x1p-9f;
  auto* const x = input.as<uint16_t>();  // [2, 2]
  x[0] = bf16(1), x[1] = bf16(half_step), x[2] = bf16(1), x[3] = bf16(half_step);
  auto* const w = weight.as<uint16_t>();  // [1, 2]
  w[0] = w[1] = bf16(1);
  bias.as<uint16_t>()[0] = bf16(half_step);
  const GemmCall even{{2, 1, 2}, input, weight, bias, output, memory_};
  ASSERT_EQ(fake_.EnqueueGemm(stream_, even), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Synchronize(stream_), DeviceStatus::kOk);
  EXPECT_EQ(output.as<uint16_t>()[0], bf16(1));
  EXPECT_EQ(output.as<uint16_t>()[1], bf16(1));
  bias.as<uint16_t>()[0] = bf16(half_step + 0x1p-14f);
  ASSERT_EQ(fake_.EnqueueGemm(stream_, even), DeviceStatus::kOk);
  ASSERT_EQ(fake_.Synchronize(stream_), DeviceStatus::kOk);
  EXPECT_EQ(output.as<uint16_t>()[0], bf16(1 + 0x1p-7f));
  EXPECT_TRUE(fake_.violations().empty());
}

}  // namespace
}  // namespace trellis::engine::cuda
