// The toy model as an engine on a fake GPU, which the test keeps.
#ifndef TRELLIS_TESTS_SERVE_ENGINE_CUDA_TOY_ENGINE_H_
#define TRELLIS_TESTS_SERVE_ENGINE_CUDA_TOY_ENGINE_H_

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/cuda_engine.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "tests/serve/engine/cuda/toy_model.h"

namespace trellis::engine::cuda {

inline DeviceSetup ToySetup(const std::shared_ptr<FakeDevice>& fake, ToyBug bug = ToyBug::kNone) {
  DeviceSetup setup;
  setup.open = [fake]() -> absl::StatusOr<std::shared_ptr<Device>> { return fake; };
  setup.load = [bug](Device& device, StreamId stream) { return ToyModel::Load(device, stream, bug); };
  return setup;
}

// Nothing that CUDA or we forbid happened, and at the end everything was given back.
inline void ExpectClean(const FakeDevice& fake) {
  EXPECT_EQ(fake.violations(), std::vector<std::string>());
  EXPECT_EQ(fake.allocations(), 0u);
  EXPECT_EQ(fake.live_execs(), 0u);
}

inline std::vector<std::vector<float>> ValuesOf(const LazyResult& result, size_t rows) {
  std::vector<std::vector<float>> values;
  for (size_t row = 0; row < rows; ++row) {
    const auto span = result.row(row).values;
    values.emplace_back(span.begin(), span.end());
  }
  return values;
}

inline void ExpectAnswers(LazyResult& result, const ToyRows& rows) {
  const absl::Status status = result.Wait();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ValuesOf(result, rows.tasks.size()), ToyAnswers(rows));
}

// A batch from Step to its values.
inline absl::Status RunToy(DeviceThread& thread, const ToyRows& rows) {
  auto result = thread.Post(rows.view());
  if (!result.ok()) return result.status();
  const absl::Status status = (*result)->Wait();
  if (status.ok()) {
    EXPECT_EQ(ValuesOf(**result, rows.tasks.size()), ToyAnswers(rows));
  }
  return status;
}

// For what another thread is about to do.
template <typename Condition>
bool Eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_TESTS_SERVE_ENGINE_CUDA_TOY_ENGINE_H_
