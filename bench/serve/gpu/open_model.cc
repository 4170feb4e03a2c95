#include "bench/serve/gpu/open_model.h"

#include <chrono>
#include <utility>

#include "bench/serve/gpu/gpu.h"
#include "serve/engine/checkpoint.h"
#include "serve/engine/cuda/cuda_model.h"

namespace trellis::engine::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

absl::StatusOr<OpenModel> OpenOnGpu(const std::string& folder, const CudaModelOptions& options) {
  OpenModel model;
  DeviceSetup setup;
  setup.open = [&model] {
    const auto begin = Clock::now();
    auto device = OpenGpu();
    model.open_seconds = SecondsSince(begin);
    return device;
  };
  setup.load = [&](Device& device, StreamId stream) -> absl::StatusOr<std::unique_ptr<Forward>> {
    const auto begin = Clock::now();
    const size_t before = device.FreeBytes();
    const auto checkpoint = OpenCheckpoint(folder);
    if (!checkpoint.ok()) return checkpoint.status();
    auto forward =
        LoadCudaModel(device, stream, checkpoint->config, checkpoint->weights, checkpoint->beside, options);
    const size_t after = device.FreeBytes();
    model.model_bytes = before > after ? before - after : 0;
    model.load_seconds = SecondsSince(begin);
    return forward;
  };
  auto thread = DeviceThread::Start(std::move(setup));
  if (!thread.ok()) return thread.status();
  model.thread = *std::move(thread);
  return model;
}

}  // namespace trellis::engine::cuda
