#include "serve/server/grpc_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::server {
namespace {

using engine::Normalize;
using engine::Pooling;
using engine::RowTask;
using engine::Task;

absl::StatusOr<RowTask> TaskFromWire(const v1::RowTask& wire, int index) {
  const auto unknown = [&](const char* field, int value) {
    return absl::InvalidArgumentError(
        absl::StrCat("tasks[", index, "].", field, ": ", value, " is none that this server knows"));
  };
  RowTask task;
  switch (wire.task()) {
    case v1::TASK_UNSPECIFIED:
      return absl::InvalidArgumentError(absl::StrCat("tasks[", index, "].task: not set"));
    case v1::TASK_EMBED:
      task.task = Task::kEmbed;
      break;
    case v1::TASK_EMBED_ALL:
      task.task = Task::kEmbedAll;
      break;
    case v1::TASK_SPARSE:
      task.task = Task::kSparse;
      break;
    case v1::TASK_CLASSIFY:
      task.task = Task::kClassify;
      break;
    default:
      return unknown("task", wire.task());
  }
  switch (wire.pooling()) {
    case v1::POOLING_MODEL:
      task.pooling = Pooling::kModel;
      break;
    case v1::POOLING_MEAN:
      task.pooling = Pooling::kMean;
      break;
    case v1::POOLING_CLS:
      task.pooling = Pooling::kCls;
      break;
    case v1::POOLING_LAST:
      task.pooling = Pooling::kLast;
      break;
    default:
      return unknown("pooling", wire.pooling());
  }
  switch (wire.normalize()) {
    case v1::NORMALIZE_L2:
      task.normalize = Normalize::kL2;
      break;
    case v1::NORMALIZE_NONE:
      task.normalize = Normalize::kNone;
      break;
    default:
      return unknown("normalize", wire.normalize());
  }
  if (wire.dimensions() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tasks[", index, "].dimensions: ", wire.dimensions(), ", expected 0 (all) or more"));
  }
  task.dimensions = wire.dimensions();
  return task;
}

absl::Status CheckShape(const v1::InferRequest& wire) {
  const int tokens = wire.input_ids_size();
  const int bounds = wire.cu_seqlens_size();
  if (bounds < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("cu_seqlens: ", bounds, " entries, expected one more than rows and at least one row"));
  }
  if (wire.type_ids_size() != 0 && wire.type_ids_size() != tokens) {
    return absl::InvalidArgumentError(absl::StrCat("type_ids: ", wire.type_ids_size(),
                                                   " entries, expected none or ", tokens, ", one a token"));
  }
  if (wire.row_tasks_size() != 0 && wire.row_tasks_size() != bounds - 1) {
    return absl::InvalidArgumentError(absl::StrCat("row_tasks: ", wire.row_tasks_size(),
                                                   " entries, expected none or ", bounds - 1, ", one a row"));
  }
  if (wire.cu_seqlens(0) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cu_seqlens[0]: ", wire.cu_seqlens(0), ", expected 0"));
  }
  for (int r = 1; r < bounds; ++r) {
    const int32_t begin = wire.cu_seqlens(r - 1), end = wire.cu_seqlens(r);
    if (end <= begin) {
      return absl::InvalidArgumentError(
          absl::StrCat("cu_seqlens[", r, "]: ", end, ", expected more than ", begin,
                       end == begin ? absl::StrCat(": row ", r - 1, " is empty") : ", the entry before it"));
    }
  }
  if (wire.cu_seqlens(bounds - 1) != tokens) {
    return absl::InvalidArgumentError(absl::StrCat("cu_seqlens[", bounds - 1,
                                                   "]: ", wire.cu_seqlens(bounds - 1), ", expected ", tokens,
                                                   ", the number of input_ids"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Request> RequestFromWire(const v1::InferRequest& wire) {
  if (absl::Status shape = CheckShape(wire); !shape.ok()) return shape;
  if (wire.tasks_size() == 0) return absl::InvalidArgumentError("tasks: empty, expected one at least");
  std::vector<RowTask> tasks;
  tasks.reserve(wire.tasks_size());
  for (int t = 0; t < wire.tasks_size(); ++t) {
    absl::StatusOr<RowTask> task = TaskFromWire(wire.tasks(t), t);
    if (!task.ok()) return std::move(task).status();
    tasks.push_back(*task);
  }

  Request request;
  switch (wire.priority()) {
    case v1::PRIORITY_INTERACTIVE:
      request.priority = Priority::kInteractive;
      break;
    case v1::PRIORITY_BULK:
      request.priority = Priority::kBulk;
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("priority: ", static_cast<int>(wire.priority()), " is none that this server knows"));
  }
  const size_t rows = static_cast<size_t>(wire.cu_seqlens_size()) - 1;
  if (wire.row_tasks_size() == 0) {
    request.rows.assign(rows, tasks[0]);
  } else {
    request.rows.reserve(rows);
    for (size_t r = 0; r < rows; ++r) {
      const uint32_t task = wire.row_tasks(static_cast<int>(r));
      if (task >= tasks.size()) {
        return absl::InvalidArgumentError(absl::StrCat("row_tasks[", r, "]: ", task, ", expected less than ",
                                                       tasks.size(), ", the number of tasks"));
      }
      request.rows.push_back(tasks[task]);
    }
  }
  request.ids.assign(wire.input_ids().begin(), wire.input_ids().end());
  request.type_ids.assign(wire.type_ids().begin(), wire.type_ids().end());
  request.cu_seqlens.assign(wire.cu_seqlens().begin(), wire.cu_seqlens().end());
  return request;
}

Clock::time_point SteadyDeadline(std::chrono::system_clock::time_point deadline) {
  constexpr std::chrono::hours kUnimaginable{24 * 365 * 100};
  const auto now = std::chrono::system_clock::now();
  // Compared before subtracting: the far end of the time line does not fit a difference.
  if (deadline > now + kUnimaginable) return Clock::time_point::max();
  if (deadline < now) return Clock::now() - std::chrono::nanoseconds(1);
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline - now);
}

}  // namespace trellis::server
