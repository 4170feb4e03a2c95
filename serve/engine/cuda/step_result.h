// The result of a Step as its caller has it. It may outlive the engine.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_STEP_RESULT_H_
#define TRELLIS_SERVE_ENGINE_CUDA_STEP_RESULT_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "serve/engine/cuda/step_job.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

class StepResult : public LazyResult {
 public:
  StepResult(std::shared_ptr<StepQueue> queue, std::shared_ptr<StepJob> job);
  // Waits while somebody reads the batch, not for the GPU, which has a copy.
  ~StepResult() override;

  bool Ready() const override;
  // The first call makes values of what the GPU left in pinned memory.
  absl::Status Wait() override;
  RowValues row(size_t index) const override;

 private:
  const std::shared_ptr<StepQueue> queue_;
  const std::shared_ptr<StepJob> job_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_STEP_RESULT_H_
