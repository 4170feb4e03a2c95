// From a folder to an engine that may be served, on the fake GPU: one that computes what the CPU engine does,
// and some that do not.
#include "serve/engine/cuda/warm_up.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "serve/engine/cuda/start_engine.h"
#include "tests/serve/engine/cuda/toy_engine.h"
#include "tests/serve/model_files.h"

namespace trellis::engine::cuda {
namespace {

using testing::TemporaryFolder;
using testing::TinyModel;

// A GPU on which a kernel of this name does nothing at all.
class WithoutKernel : public FakeDevice {
 public:
  explicit WithoutKernel(std::string kernel) : kernel_(std::move(kernel)) {}
  DeviceStatus EnqueueKernel(StreamId stream, const Launch& launch) override {
    Launch changed = launch;
    if (launch.kernel == kernel_) changed.body = [](void*) {};
    return FakeDevice::EnqueueKernel(stream, changed);
  }

 private:
  const std::string kernel_;
};

CudaEngineOptions OptionsOf(const std::string& folder) {
  CudaEngineOptions options;
  options.folder = folder;
  options.max_batch_tokens = 64;
  return options;
}

// Few and short ones, since the emulation is slow.
WarmUpPlan ShortPlan(const CudaEngineOptions& options) {
  WarmUpPlan plan = PlanOf(options);
  plan.lengths = {1, 7, 16};
  return plan;
}

absl::StatusOr<OpenedEngine> Start(const std::shared_ptr<FakeDevice>& fake, const CudaEngineOptions& options,
                                   WarmUpPlan plan) {
  return StartEngine(
      options, [fake]() -> absl::StatusOr<std::shared_ptr<Device>> { return fake; }, std::move(plan));
}

absl::StatusOr<std::string> WarmUpOf(const std::shared_ptr<FakeDevice>& fake, const std::string& folder) {
  const CudaEngineOptions options = OptionsOf(folder);
  auto opened = Start(fake, options, ShortPlan(options));
  if (!opened.ok()) return opened.status();
  return opened->warm_up();
}

TEST(WarmUp, AModelThatIsRightIsServedAndSaysWhatWasFound) {
  for (const char* model : {"tiny-bert", "tiny-m3", "tiny-reranker"}) {
    SCOPED_TRACE(model);
    const auto fake = std::make_shared<FakeDevice>();
    const auto said = WarmUpOf(fake, TinyModel(model));
    ASSERT_TRUE(said.ok()) << said.status();
    EXPECT_NE(said->find("graphs"), std::string::npos) << *said;
    EXPECT_NE(said->find("sizes timed"), std::string::npos) << *said;
    EXPECT_NE(said->find("beside the CPU engine the worst is row "), std::string::npos) << *said;
    ExpectClean(*fake);
  }
}

TEST(WarmUp, RunsTheSizesThatAreAskedFor) {
  const auto fake = std::make_shared<FakeDevice>();
  CudaEngineOptions options = OptionsOf(TinyModel("tiny-bert"));
  options.max_batch_tokens = 128;
  options.warm_up = {{2, 6}, {4, 65}};
  {
    auto opened = Start(fake, options, ShortPlan(options));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const auto said = opened->warm_up();
    ASSERT_TRUE(said.ok()) << said.status();
    EXPECT_NE(said->find("2 sizes of batches run"), std::string::npos) << *said;
    // Their buckets' graphs are there, where a graph is used at all: here launching costs next to nothing,
    // and whether it gains is the clock's chance.
    const GraphCounters counters = opened->graphs->Read();
    if (counters.max_tokens >= 128) {
      EXPECT_GE(counters.replays_by_bucket.at({4, 64}), 2);
      EXPECT_GE(counters.replays_by_bucket.at({4, 128}), 2);
    }
  }
  ExpectClean(*fake);
}

// By a clock that each launch moves and no graph, so that graphs are used.
TEST(WarmUp, ASizeIsLoadedCapturedAndReplayed) {
  const auto fake = std::make_shared<FakeDevice>();
  const PipelineTimes::Now now = [fake] {
    return std::chrono::steady_clock::time_point(std::chrono::microseconds(
        fake->count(FakeCall::kEnqueueKernel) + fake->count(FakeCall::kEnqueueGemm)));
  };
  {
    auto engine = CreateCudaEngine(ToySetup(fake));
    ASSERT_TRUE(engine.ok()) << engine.status();
    WarmUpPlan plan;
    plan.sizes = {{10, 70}};  // of a bucket that the measurement, with its long rows, has not run
    plan.lengths = {1};
    plan.open_reference = []() -> absl::StatusOr<std::unique_ptr<Engine>> {
      return CreateCudaEngine(ToySetup(std::make_shared<FakeDevice>()));
    };
    const auto report = WarmUp(**engine, plan, now);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->sizes, 1u);
    auto replays = (*engine)->thread().graph_counters().replays_by_bucket;
    EXPECT_EQ((replays[{16, 128}]), 2);  // the second time, as it was captured, and the third
  }
  ExpectClean(*fake);
}

TEST(WarmUp, AKernelThatDoesNothingIsNotServed) {
  const std::pair<const char*, const char*> cases[] = {
      {"activate", "tiny-bert"},    {"add_norm", "tiny-bert"},    {"finish_rows", "tiny-bert"},
      {"token_weights", "tiny-m3"}, {"token_vectors", "tiny-m3"}, {"dense", "tiny-reranker"}};
  for (const auto& [kernel, model] : cases) {
    SCOPED_TRACE(kernel);
    const auto fake = std::make_shared<WithoutKernel>(kernel);
    const auto said = WarmUpOf(fake, TinyModel(model));
    ASSERT_EQ(said.status().code(), absl::StatusCode::kFailedPrecondition) << said.status();
    const std::string why(said.status().message());
    EXPECT_NE(why.find("not what the CPU engine computes: row "), std::string::npos) << why;
    EXPECT_NE(why.find("expected at most 0.001"), std::string::npos) << why;
    EXPECT_NE(why.find("--device cpu"), std::string::npos) << why;
  }
}

// What is on the GPU is no longer what is in the folder.
TEST(WarmUp, OtherWeightsAreNotServed) {
  const TemporaryFolder folder;
  folder.CopyModel("tiny-bert", TemporaryFolder::Copy::kAll);
  const CudaEngineOptions options = OptionsOf(folder.path());
  const auto fake = std::make_shared<FakeDevice>();
  auto opened = Start(fake, options, ShortPlan(options));
  ASSERT_TRUE(opened.ok()) << opened.status();
  // Most numbers change their signs and sizes; the header, at the beginning, stays.
  std::string file = folder.Read("model.safetensors");
  for (size_t at = file.size() / 4; at < file.size(); ++at) file[at] = static_cast<char>(file[at] ^ 0x80);
  folder.Write("model.safetensors", file);
  const auto said = opened->warm_up();
  EXPECT_EQ(said.status().code(), absl::StatusCode::kFailedPrecondition) << said.status();
}

TEST(WarmUp, ADeadDeviceIsSaid) {
  const auto fake = std::make_shared<FakeDevice>();
  const CudaEngineOptions options = OptionsOf(TinyModel("tiny-bert"));
  auto opened = Start(fake, options, ShortPlan(options));
  ASSERT_TRUE(opened.ok()) << opened.status();
  fake->Fail(FakeCall::kExecution, DeviceStatus::kLaunchFailed, 700);
  EXPECT_EQ(opened->warm_up().status().code(), absl::StatusCode::kUnavailable);
}

TEST(WarmUp, AReferenceThatCannotBeHadIsSaid) {
  const auto fake = std::make_shared<FakeDevice>();
  const CudaEngineOptions options = OptionsOf(TinyModel("tiny-bert"));
  WarmUpPlan plan = ShortPlan(options);
  plan.open_reference = []() -> absl::StatusOr<std::unique_ptr<Engine>> {
    return absl::ResourceExhaustedError("no memory");
  };
  auto opened = Start(fake, options, plan);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->warm_up().status().message(), "no memory");
}

TEST(StartEngine, WhatCannotBeIsSaidBeforeAnythingRuns) {
  const auto fake = std::make_shared<FakeDevice>();
  CudaEngineOptions options = OptionsOf(TinyModel("tiny-bert"));
  options.warm_up = {{1, 4}, {1, 100000}};
  const auto sizes = Start(fake, options, ShortPlan(options));
  EXPECT_EQ(sizes.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(sizes.status().message()).find("warm_up: \"1x100000\", expected at most"),
            std::string::npos)
      << sizes.status();

  const auto second = std::make_shared<FakeDevice>();
  options = OptionsOf(TinyModel("tiny-bert"));
  options.attention = "flash9";
  const auto attention = Start(second, options, ShortPlan(options));
  EXPECT_EQ(attention.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(std::string(attention.status().message()).find("\"flash9\""), std::string::npos)
      << attention.status();

  const auto third = std::make_shared<FakeDevice>();
  const auto folder = Start(third, OptionsOf("/no/such/folder"), {});
  EXPECT_NE(std::string(folder.status().message()).find("/no/such/folder"), std::string::npos)
      << folder.status();
  for (const auto& device : {fake, second, third}) ExpectClean(*device);
}

TEST(DefaultWarmUp, DoublesUpToWhatBatchesAndGraphsTake) {
  EngineLimits limits;
  limits.max_row_tokens = 512;
  limits.max_batch_tokens = 16384;
  limits.max_batch_rows = 2048;
  using Sizes = std::vector<Bucket>;
  EXPECT_EQ(DefaultWarmUp(limits, 512), (Sizes{{1, 64}, {1, 128}, {1, 256}, {1, 512}, {4, 256}, {4, 512}}));
  EXPECT_EQ(DefaultWarmUp(limits, 100000).size(), 15u);  // 64 rows of 512 are more than a batch
  EXPECT_EQ(DefaultWarmUp(limits, 0), Sizes());
  limits.max_row_tokens = 100;
  limits.max_batch_rows = 1;
  EXPECT_EQ(DefaultWarmUp(limits, 1000), (Sizes{{1, 64}, {1, 100}}));
}

}  // namespace
}  // namespace trellis::engine::cuda
