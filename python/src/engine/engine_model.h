// A model's folder on this machine's processor, for any number of threads, one computing at a time.
#ifndef TRELLIS_PYTHON_ENGINE_ENGINE_MODEL_H_
#define TRELLIS_PYTHON_ENGINE_ENGINE_MODEL_H_

#include <unistd.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/cpu/cpu_options.h"
#include "serve/engine/engine.h"
#include "serve/model/model_folder.h"
#include "tools/cli/text_encoder.h"

namespace trellis::python {

struct EngineRequest {
  std::span<const Input> inputs;
  std::string prompt;  // in front of each text as it stands
  engine::RowTask task;
  size_t columns = 0;     // values that a row must have
  size_t max_length = 0;  // tokens; what is longer is cut
};

class EngineModel {
 public:
  static absl::StatusOr<std::unique_ptr<EngineModel>> Open(const engine::CpuEngineOptions& options);

  const model::ModelFolder& folder() const { return folder_; }
  const engine::EngineLimits& limits() const { return engine_->limits(); }

  // The request's inputs [begin, end) to rows of `columns` values at `out`. Waits while another thread
  // computes. Without the GIL. Errors count inputs from the request's first.
  absl::Status Compute(const EngineRequest& request, size_t begin, size_t end, float* out);

  // A fork leaves the child without the engine's threads: whoever waited for them would wait for ever.
  bool HasItsThreads() const { return getpid() == process_; }

 private:
  EngineModel(model::ModelFolder folder, std::unique_ptr<engine::Engine> engine)
      : folder_(std::move(folder)),
        engine_(std::move(engine)),
        encoder_(folder_.tokenizer, cli::TextEncoder::Columns::kAll) {}

  const pid_t process_ = getpid();
  const model::ModelFolder folder_;
  const std::unique_ptr<engine::Engine> engine_;
  std::mutex mutex_;
  cli::TextEncoder encoder_;
};

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ENGINE_ENGINE_MODEL_H_
