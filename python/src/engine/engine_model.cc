#include "python/src/engine/engine_model.h"

#include <algorithm>
#include <cstdint>

#include "python/src/raise.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "tools/cli/engine/engine_rows.h"

namespace trellis::python {

absl::StatusOr<std::unique_ptr<EngineModel>> EngineModel::Open(const engine::CpuEngineOptions& options) {
  absl::StatusOr<model::ModelFolder> folder = model::ReadModelFolder(options.folder);
  if (!folder.ok()) return folder.status();
  absl::StatusOr<std::unique_ptr<engine::Engine>> engine = engine::OpenCpuEngine(options);
  if (!engine.ok()) return engine.status();
  return std::unique_ptr<EngineModel>(new EngineModel(*std::move(folder), *std::move(engine)));
}

absl::Status EngineModel::Compute(const EngineRequest& request, size_t begin, size_t end, float* out) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cli::EngineRows rows(
      *engine_, request.task,
      [&](std::span<const float> values) {
        if (values.size() != request.columns) {
          return absl::InternalError(std::to_string(values.size()) + " values, expected " +
                                     std::to_string(request.columns));
        }
        out = std::copy(values.begin(), values.end(), out);
        return absl::OkStatus();
      },
      begin);
  EncodeOptions options;
  options.truncate = Truncate::kLongestFirst;
  options.max_length = request.max_length;
  std::string prompted;
  for (size_t i = begin; i < end; ++i) {
    Input input = request.inputs[i];
    if (!request.prompt.empty()) {
      prompted.assign(request.prompt).append(input.text);
      input.text = prompted;
    }
    const std::string place = "texts[" + std::to_string(i) + "]";
    const absl::StatusOr<Encoding> encoding = encoder_.Encode(input, options);
    if (!encoding.ok()) return At(place, encoding.status());
    if (encoding->ids.empty())
      return At(place, absl::InvalidArgumentError("no tokens, expected at least one"));
    const bool typed = folder_.type_ids == model::TypeIds::kTemplate;
    // What it says may be of an earlier text, which it names.
    const absl::Status added =
        rows.Add(encoding->ids, typed ? encoding->type_ids : std::span<const uint8_t>());
    if (!added.ok()) return added;
  }
  return rows.Finish();
}

}  // namespace trellis::python
