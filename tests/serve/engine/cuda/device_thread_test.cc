// A Step's life on a fake GPU, with a model whose answers are worked out by hand (toy_model.h).
#include "serve/engine/cuda/device_thread.h"

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "tests/serve/engine/cuda/toy_engine.h"

namespace trellis::engine::cuda {
namespace {

std::unique_ptr<DeviceThread> Start(const std::shared_ptr<FakeDevice>& fake, ToyBug bug = ToyBug::kNone) {
  auto thread = DeviceThread::Start(ToySetup(fake, bug));
  EXPECT_TRUE(thread.ok()) << thread.status();
  return *std::move(thread);
}

std::unique_ptr<LazyResult> Post(DeviceThread& thread, const ToyRows& rows) {
  auto result = thread.Post(rows.view());
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

TEST(DeviceThread, AnswersAreThoseOfTheDefinition) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    ToyRows rows;
    rows.Add({1, 9, 3}).Add({5}, 2).Add({7, 7}, 1);
    rows.type_ids = {0, 1, 0, 1, 0, 0};
    // By hand, the first row: x + 1 = 1 + 0 + 0 + 1, 1 + 1 + 2 + 1, 3 + 2 + 0 + 1 = 2, 5, 6, in all 13.
    // Column c of the answer is 13 + 3 c + 3 * 13.
    EXPECT_EQ(ToyAnswers(rows)[0], (std::vector<float>{52, 55, 58, 61}));
    const auto result = Post(*thread, rows);
    ExpectAnswers(*result, rows);
  }
  ExpectClean(*fake);
}

// One bucket, many batches: the first eager, the second captured, the others replayed with other lengths,
// other numbers of rows and other ids. Each equals the definition, and so what it would be eagerly.
TEST(DeviceThread, ReplaysEqualEagerOnOtherLengths) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    const std::vector<std::vector<int32_t>> batches = {{64, 40, 20}, {1, 1, 1, 100}, {62, 63, 1},
                                                       {3, 110, 2},  {120, 2, 2, 1}, {30, 30, 30, 30},
                                                       {64, 63, 1},  {1, 126, 1}};
    int32_t id = 0;
    for (const auto& lengths : batches) {
      EXPECT_TRUE(RunToy(*thread, ToyRows::Of(lengths, id += 11)).ok());
    }
    const GraphCounters counters = thread->graph_counters();
    EXPECT_EQ(counters.captures, 1);
    EXPECT_EQ(counters.eager, 1);
    EXPECT_EQ(counters.replays, static_cast<int64_t>(batches.size()) - 1);
    EXPECT_EQ(counters.replays_by_bucket.begin()->first, (Bucket{4, 128}));
  }
  ExpectClean(*fake);
}

// The mistake that the test above is there for: something of the captured batch stays in the graph.
TEST(DeviceThread, ABatchBakedIntoAGraphIsSeen) {
  const auto fake = std::make_shared<FakeDevice>();
  const auto thread = Start(fake, ToyBug::kRowsOfTheBatch);
  for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{60, 40}, {50, 50}}) {
    EXPECT_TRUE(RunToy(*thread, ToyRows::Of(lengths)).ok());  // eager, captured: right
  }
  const ToyRows more = ToyRows::Of({40, 30, 30});
  const auto result = Post(*thread, more);
  ASSERT_TRUE(result->Wait().ok());
  EXPECT_NE(ValuesOf(*result, 3), ToyAnswers(more));
}

TEST(DeviceThread, StepReturnsBeforeTheGpuIsDoneAndTheNextIsEnqueuedMeanwhile) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    const ToyRows first = ToyRows::Of({10, 20}), second = ToyRows::Of({30}, 5);
    fake->Hold();
    const int done_before = fake->count(FakeCall::kExecution);
    const int copies = fake->count(FakeCall::kEnqueueCopy), records = fake->count(FakeCall::kRecord);
    const auto one = Post(*thread, first);
    const auto two = Post(*thread, second);
    // Both batches are on the stream, in and out and the event behind, and nothing has been done.
    ASSERT_TRUE(Eventually([&] { return fake->count(FakeCall::kRecord) == records + 2; }));
    EXPECT_EQ(fake->count(FakeCall::kEnqueueCopy), copies + 4);
    EXPECT_EQ(fake->count(FakeCall::kExecution), done_before);
    EXPECT_FALSE(one->Ready());
    EXPECT_FALSE(two->Ready());
    fake->Release();
    ExpectAnswers(*two, second);
    EXPECT_TRUE(one->Ready());
    ExpectAnswers(*one, first);

    // And by the order that was noted: the second batch's event was recorded before the first piece of work
    // was done.
    std::vector<FakeCall> order;
    for (const auto& note : fake->notes()) {
      if (note.call == FakeCall::kRecord || note.call == FakeCall::kExecution) order.push_back(note.call);
    }
    order.erase(order.begin(), order.begin() + done_before + records);
    ASSERT_GE(order.size(), 3u);
    EXPECT_EQ(order[0], FakeCall::kRecord);
    EXPECT_EQ(order[1], FakeCall::kRecord);
    EXPECT_EQ(order[2], FakeCall::kExecution);
    EXPECT_EQ(fake->count(FakeCall::kWait), 0);  // nobody blocks on an event
  }
  ExpectClean(*fake);
}

TEST(DeviceThread, OneMoreThanItsLimitIsRefused) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    const ToyRows rows = ToyRows::Of({10});
    fake->Hold();
    const auto one = Post(*thread, rows), two = Post(*thread, rows);
    const auto three = thread->Post(rows.view());
    EXPECT_EQ(three.status().code(), absl::StatusCode::kFailedPrecondition);
    fake->Release();
    ExpectAnswers(*two, rows);
    EXPECT_TRUE(RunToy(*thread, rows).ok());
  }
  ExpectClean(*fake);
}

// More results kept than there are slots, none of them looked at: they must not hold the engine up, nor lose
// their values.
TEST(DeviceThread, ResultsThatNobodyReadsMoveOutOfTheWay) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    std::vector<ToyRows> batches;
    for (int32_t i = 0; i < 8; ++i) batches.push_back(ToyRows::Of({5 + i, 70}, i));
    std::vector<std::unique_ptr<LazyResult>> results;
    for (const ToyRows& rows : batches) {
      results.push_back(Post(*thread, rows));
      ASSERT_TRUE(Eventually([&] { return results.back()->Ready(); }));
    }
    for (size_t i = 0; i < batches.size(); ++i) ExpectAnswers(*results[i], batches[i]);
  }
  ExpectClean(*fake);
}

TEST(DeviceThread, ResultsOutliveTheEngine) {
  const auto fake = std::make_shared<FakeDevice>();
  const ToyRows first = ToyRows::Of({10}), second = ToyRows::Of({20, 3});
  std::unique_ptr<LazyResult> one, two;
  {
    const auto thread = Start(fake);
    one = Post(*thread, first);
    two = Post(*thread, second);
  }
  ExpectClean(*fake);
  ExpectAnswers(*one, first);
  ExpectAnswers(*two, second);
}

TEST(DeviceThread, ResultsThatAreDroppedHoldNothingUp) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    for (int i = 0; i < 20; ++i) {
      const ToyRows rows = ToyRows::Of({10 + i});
      fake->Hold();
      auto dropped = Post(*thread, rows);
      if (i % 2 == 0)
        Eventually([&] { return fake->count(FakeCall::kRecord) > i; });  // in flight, or perhaps queued
      dropped.reset();
      fake->Release();
      EXPECT_TRUE(RunToy(*thread, rows).ok());
    }
  }
  ExpectClean(*fake);
}

// A batch's memory is read for the last time before Wait returns or the result is gone: the sanitizers see it
// otherwise.
TEST(DeviceThread, BatchesMayGoOnceTheirResultsHave) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    for (int i = 0; i < 50; ++i) {
      auto rows = std::make_unique<ToyRows>(ToyRows::Of({1 + i, 2}));
      auto result = Post(*thread, *rows);
      if (i % 3 == 0) {
        ASSERT_TRUE(result->Wait().ok());
      }
      result.reset();
      rows.reset();
    }
  }
  ExpectClean(*fake);
}

// As the server does it: one thread steps, another waits and reads.
TEST(DeviceThread, SteppingAndWaitingAreDifferentThreads) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    constexpr int kBatches = 200;
    std::vector<ToyRows> batches;
    std::mt19937 random(3);
    for (int i = 0; i < kBatches; ++i) {
      std::vector<int32_t> lengths;
      for (uint32_t rows = 1 + random() % 6; rows > 0; --rows)
        lengths.push_back(static_cast<int32_t>(1 + random() % 90));
      batches.push_back(ToyRows::Of(lengths, i % 50));
    }
    std::vector<std::unique_ptr<LazyResult>> results(kBatches);
    std::atomic<int> posted{0}, finished{0};
    std::thread waiting([&] {
      for (int i = 0; i < kBatches; ++i) {
        while (posted <= i) std::this_thread::yield();
        ExpectAnswers(*results[static_cast<size_t>(i)], batches[static_cast<size_t>(i)]);
        results[static_cast<size_t>(i)].reset();
        ++finished;
      }
    });
    for (int i = 0; i < kBatches; ++i) {
      while (i - finished >= 2) std::this_thread::yield();
      results[static_cast<size_t>(i)] = Post(*thread, batches[static_cast<size_t>(i)]);
      ++posted;
    }
    waiting.join();
    EXPECT_GT(thread->graph_counters().replays, 50);
  }
  ExpectClean(*fake);
}

TEST(DeviceThread, CallsRunOnTheDevicesThread) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    const auto thread = Start(fake);
    EXPECT_TRUE(thread
                    ->Call([](Pipeline& pipeline) {
                      return DeviceError(pipeline.device().Synchronize(pipeline.stream()), "x");
                    })
                    .ok());
    EXPECT_EQ(thread->Call([](Pipeline&) { return absl::InternalError("no"); }), absl::InternalError("no"));
    EXPECT_TRUE(RunToy(*thread, ToyRows::Of({4})).ok());
  }
  ExpectClean(*fake);
}

TEST(CudaEngine, RefusesWhatBreaksTheContract) {
  const auto fake = std::make_shared<FakeDevice>();
  {
    auto engine = CreateCudaEngine(ToySetup(fake));
    ASSERT_TRUE(engine.ok()) << engine.status();
    ToyRows rows;
    rows.Add({99, 100});
    const auto result = (*engine)->Step(rows.view());
    EXPECT_EQ(result.status(), absl::InvalidArgumentError("cuda engine: ids[1]: 100, expected 0 to 99"));
    const ToyRows good = ToyRows::Of({3});
    auto answer = (*engine)->Step(good.view());
    ASSERT_TRUE(answer.ok());
    ExpectAnswers(**answer, good);
  }
  ExpectClean(*fake);
}

}  // namespace
}  // namespace trellis::engine::cuda
