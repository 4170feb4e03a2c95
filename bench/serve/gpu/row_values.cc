#include "bench/serve/gpu/row_values.h"

#include <fstream>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/serve/gpu/json_line.h"
#include "bench/serve/gpu/step_rows.h"

namespace trellis::engine::cuda {
namespace {

constexpr const char* kTaskNames[kTasks] = {"embed", "embed_all", "sparse", "classify"};

template <typename Value>
void Write(std::ofstream& out, std::span<const Value> values) {
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
}

absl::Status WriteStep(DeviceThread& thread, const Rows& step, std::ofstream& out,
                       std::vector<size_t>& counts) {
  auto result = thread.Post(step.view());
  if (!result.ok()) return result.status();
  if (auto status = (*result)->Wait(); !status.ok()) return status;
  for (size_t i = 0; i < step.tasks.size(); ++i) {
    const RowValues row = (*result)->row(i);
    Write(out, row.values);
    Write(out, row.indices);
    counts.push_back(row.values.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteValues(DeviceThread& thread, const Rows& rows, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  for (int task = 0; task < kTasks; ++task) {
    if (!thread.limits().tasks[task]) continue;
    const auto steps = StepsOf(WithTask(rows, static_cast<Task>(task)), thread.limits());
    if (!steps.ok()) return steps.status();
    std::vector<size_t> counts;
    for (const Rows& step : *steps) {
      if (auto status = WriteStep(thread, step, out, counts); !status.ok()) return status;
    }
    JsonLine()
        .Text("part", "values")
        .Text("task", kTaskNames[task])
        .Raw("counts", absl::StrCat("[", absl::StrJoin(counts, ", "), "]"))
        .Print();
  }
  out.flush();
  return out ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

}  // namespace trellis::engine::cuda
