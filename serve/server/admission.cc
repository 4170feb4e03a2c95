#include "serve/server/admission.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace trellis::server {
namespace {

using engine::EngineLimits;
using engine::RowTask;
using engine::Task;

constexpr const char* kTaskNames[engine::kTasks] = {"embed", "embed_all", "sparse", "classify"};

absl::Status Invalid(const std::string& place, int64_t value, const std::string& expected) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", value, ", expected ", expected));
}

std::string Row(size_t row, const char* field) { return absl::StrCat("row ", row, ": ", field); }

absl::Status CheckShape(const Request& request, const EngineLimits& limits, int64_t max_queued_tokens) {
  const size_t rows = request.rows.size();
  if (rows == 0) return Invalid("rows", 0, "at least 1");
  if (request.cu_seqlens.size() != rows + 1) {
    return Invalid("cu_seqlens", static_cast<int64_t>(request.cu_seqlens.size()),
                   absl::StrCat(rows + 1, " numbers, one more than rows"));
  }
  if (request.cu_seqlens[0] != 0) return Invalid("cu_seqlens[0]", request.cu_seqlens[0], "0");
  for (size_t r = 0; r < rows; ++r) {
    const int64_t tokens = int64_t{request.cu_seqlens[r + 1]} - request.cu_seqlens[r];
    if (tokens < 1 || tokens > limits.max_row_tokens) {
      return Invalid(Row(r, "tokens"), tokens, absl::StrCat("1 to ", limits.max_row_tokens));
    }
  }
  if (static_cast<size_t>(request.cu_seqlens[rows]) != request.ids.size()) {
    return Invalid("input_ids", static_cast<int64_t>(request.ids.size()),
                   absl::StrCat(request.cu_seqlens[rows], " numbers, as the last of cu_seqlens says"));
  }
  if (!request.type_ids.empty() && request.type_ids.size() != request.ids.size()) {
    return Invalid("type_ids", static_cast<int64_t>(request.type_ids.size()),
                   absl::StrCat("none or ", request.ids.size(), " numbers, one a token"));
  }
  if (request.cu_seqlens[rows] > max_queued_tokens) {
    return Invalid("tokens of the request", request.cu_seqlens[rows],
                   absl::StrCat("at most ", max_queued_tokens, ", the length of the queue"));
  }
  return absl::OkStatus();
}

absl::Status CheckTask(size_t row, const RowTask& asked, const EngineLimits& limits) {
  const int task = static_cast<int>(asked.task);
  if (task >= engine::kTasks)
    return Invalid(Row(row, "task"), task, absl::StrCat("0 to ", engine::kTasks - 1));
  if (!limits.tasks[task]) {
    return absl::FailedPreconditionError(absl::StrCat(Row(row, "task"), ": ", kTaskNames[task],
                                                      ", which model \"", limits.model, "\" does not have"));
  }
  if (asked.pooling > engine::Pooling::kLast) {
    return Invalid(Row(row, "pooling"), static_cast<int>(asked.pooling), "0 to 3");
  }
  if (asked.normalize > engine::Normalize::kL2) {
    return Invalid(Row(row, "normalize"), static_cast<int>(asked.normalize), "0 or 1");
  }
  // What would be ignored is refused: who asks for it expects it to be done.
  const engine::RowTask unset;
  if (asked.pooling != unset.pooling && asked.task != Task::kEmbed) {
    return Invalid(Row(row, "pooling"), static_cast<int>(asked.pooling),
                   absl::StrCat("the model's for ", kTaskNames[task]));
  }
  const bool embeds = asked.task == Task::kEmbed || asked.task == Task::kEmbedAll;
  if (asked.normalize != unset.normalize && !embeds) {
    return Invalid(Row(row, "normalize"), static_cast<int>(asked.normalize),
                   absl::StrCat("the default for ", kTaskNames[task]));
  }
  const int32_t most = embeds ? limits.dimensions : 0;
  if (asked.dimensions < 0 || asked.dimensions > most) {
    return Invalid(Row(row, "dimensions"), asked.dimensions,
                   embeds ? absl::StrCat("0 to ", most) : absl::StrCat("0 for ", kTaskNames[task]));
  }
  return absl::OkStatus();
}

// One branch a token for the common case; where it was is only looked for once something is wrong.
absl::Status CheckIds(std::span<const int32_t> ids, std::string_view field, int32_t end,
                      const Request& request) {
  const uint32_t bound = static_cast<uint32_t>(end);
  bool good = true;
  for (const int32_t id : ids) good &= static_cast<uint32_t>(id) < bound;
  if (good) return absl::OkStatus();
  size_t row = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    while (static_cast<size_t>(request.cu_seqlens[row + 1]) <= i) ++row;
    if (static_cast<uint32_t>(ids[i]) >= bound) {
      const std::string place = absl::StrCat("row ", row, ": ", std::string(field), "[",
                                             i - static_cast<size_t>(request.cu_seqlens[row]), "]");
      return Invalid(place, ids[i], absl::StrCat("0 to ", end - 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRequest(const Request& request, const EngineLimits& limits, int64_t max_queued_tokens) {
  if (!request.done)
    return absl::InvalidArgumentError("done: empty, expected a function to call with the answer");
  if (static_cast<int>(request.priority) >= kPriorities) {
    return Invalid("priority", static_cast<int>(request.priority), absl::StrCat("0 to ", kPriorities - 1));
  }
  if (auto status = CheckShape(request, limits, max_queued_tokens); !status.ok()) return status;
  for (size_t r = 0; r < request.rows.size(); ++r) {
    if (auto status = CheckTask(r, request.rows[r], limits); !status.ok()) return status;
  }
  if (auto status = CheckIds(request.ids, "input_ids", limits.vocab_size, request); !status.ok())
    return status;
  return CheckIds(request.type_ids, "type_ids", limits.type_vocab_size, request);
}

}  // namespace trellis::server
