#include "serve/engine/cuda/start_engine.h"

#include <chrono>
#include <utility>

#include "serve/engine/checkpoint.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "serve/engine/cuda/cuda_engine.h"
#include "serve/engine/cuda/cuda_model.h"

namespace trellis::engine::cuda {

WarmUpPlan PlanOf(const CudaEngineOptions& options) {
  WarmUpPlan plan;
  plan.sizes = options.warm_up;
  plan.open_reference = [folder = options.folder] {
    return OpenCpuEngine(CpuEngineOptions{folder, cpu::Precision::kF32, /*threads=*/0});
  };
  return plan;
}

absl::StatusOr<OpenedEngine> StartEngine(const CudaEngineOptions& options, OpenDevice open, WarmUpPlan plan) {
  DeviceSetup setup;
  setup.open = std::move(open);
  setup.load = [options](Device& device, StreamId stream) -> absl::StatusOr<std::unique_ptr<Forward>> {
    const auto checkpoint = OpenCheckpoint(options.folder);
    if (!checkpoint.ok()) return checkpoint.status();
    CudaModelOptions model;
    model.type = options.type;
    model.max_batch_tokens = options.max_batch_tokens;
    model.attention = options.attention;
    return LoadCudaModel(device, stream, checkpoint->config, checkpoint->weights, checkpoint->beside, model);
  };
  auto engine = CreateCudaEngine(std::move(setup));
  if (!engine.ok()) return engine.status();
  if (auto status = CheckWarmUp(plan.sizes, (*engine)->limits()); !status.ok()) return status;
  OpenedEngine opened;
  opened.graphs = (*engine)->thread().graph_statistics();
  opened.warm_up = [engine = engine->get(), plan = std::move(plan)]() -> absl::StatusOr<std::string> {
    const auto report = WarmUp(*engine, plan, [] { return std::chrono::steady_clock::now(); });
    if (!report.ok()) return report.status();
    return Describe(*report);
  };
  opened.engine = *std::move(engine);
  return opened;
}

}  // namespace trellis::engine::cuda
