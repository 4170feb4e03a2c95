#include "bench/serve/gpu/step_rows.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "serve/engine/contract_check.h"

namespace trellis::engine {

Task OwnTask(const EngineLimits& limits) {
  return limits.tasks[static_cast<int>(Task::kEmbed)] ? Task::kEmbed : Task::kClassify;
}

Rows WithTask(Rows rows, Task task) {
  for (RowTask& row : rows.tasks) row.task = task;
  return rows;
}

absl::StatusOr<std::vector<Rows>> StepsOf(const Rows& rows, const EngineLimits& limits) {
  std::vector<Rows> steps;
  for (size_t row = 0; row < rows.tasks.size(); ++row) {
    const auto begin = rows.ids.begin() + rows.cu_seqlens[row],
               end = rows.ids.begin() + rows.cu_seqlens[row + 1];
    const size_t tokens = static_cast<size_t>(end - begin);
    if (steps.empty() || steps.back().tasks.size() >= static_cast<size_t>(limits.max_batch_rows) ||
        steps.back().ids.size() + tokens > static_cast<size_t>(limits.max_batch_tokens)) {
      steps.emplace_back();
    }
    steps.back().Add({begin, end});
    steps.back().tasks.back() = rows.tasks[row];
  }
  for (const Rows& step : steps) {
    if (const std::string breach = BatchBreach(step.view(), limits); !breach.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("rows for the engine: ", breach));
    }
  }
  return steps;
}

}  // namespace trellis::engine
