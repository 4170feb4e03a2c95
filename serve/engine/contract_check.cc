#include "serve/engine/contract_check.h"

#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"

namespace trellis::engine {
namespace {

std::string Breach(const std::string& place, int64_t value, const std::string& expected) {
  return absl::StrCat(place, ": ", value, ", expected ", expected);
}

std::string IdsBreach(const char* field, std::span<const int32_t> ids, int32_t end) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= end)
      return Breach(absl::StrCat(field, "[", i, "]"), ids[i], absl::StrCat("0 to ", end - 1));
  }
  return "";
}

std::string TaskBreach(size_t row, const RowTask& task, const EngineLimits& limits) {
  const std::string place = absl::StrCat("rows[", row, "].");
  const int number = static_cast<int>(task.task);
  if (number >= kTasks || !limits.tasks[number]) return Breach(place + "task", number, "a task of the model");
  if (task.dimensions < 0 || task.dimensions > limits.dimensions) {
    return Breach(place + "dimensions", task.dimensions, absl::StrCat("0 to ", limits.dimensions));
  }
  return "";
}

uint64_t Mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3u; }

}  // namespace

std::string BatchBreach(const PackedBatch& batch, const EngineLimits& limits) {
  const auto count = [](size_t n) { return static_cast<int64_t>(n); };
  const int64_t rows = count(batch.num_rows()), tokens = count(batch.num_tokens());
  if (rows < 1 || rows > limits.max_batch_rows)
    return Breach("rows", rows, absl::StrCat("1 to ", limits.max_batch_rows));
  if (tokens > limits.max_batch_tokens)
    return Breach("ids", tokens, absl::StrCat("at most ", limits.max_batch_tokens));
  if (count(batch.cu_seqlens.size()) != rows + 1)
    return Breach("cu_seqlens", count(batch.cu_seqlens.size()), "rows + 1");
  if (batch.cu_seqlens[0] != 0) return Breach("cu_seqlens[0]", batch.cu_seqlens[0], "0");
  for (size_t r = 0; r < batch.num_rows(); ++r) {
    const int64_t length = int64_t{batch.cu_seqlens[r + 1]} - batch.cu_seqlens[r];
    if (length < 1 || length > limits.max_row_tokens) {
      return Breach(absl::StrCat("tokens of row ", r), length, absl::StrCat("1 to ", limits.max_row_tokens));
    }
    if (auto breach = TaskBreach(r, batch.rows[r], limits); !breach.empty()) return breach;
  }
  if (batch.cu_seqlens.back() != tokens)
    return Breach("cu_seqlens, the last", batch.cu_seqlens.back(), absl::StrCat(tokens));
  if (!batch.type_ids.empty() && batch.type_ids.size() != batch.ids.size()) {
    return Breach("type_ids", count(batch.type_ids.size()), absl::StrCat("0 or ", tokens));
  }
  if (auto breach = IdsBreach("ids", batch.ids, limits.vocab_size); !breach.empty()) return breach;
  return IdsBreach("type_ids", batch.type_ids, limits.type_vocab_size);
}

uint64_t Fingerprint(const PackedBatch& batch) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const auto& column : {batch.ids, batch.type_ids, batch.cu_seqlens}) {
    hash = Mix(hash, column.size());
    for (const int32_t value : column) hash = Mix(hash, static_cast<uint32_t>(value));
  }
  for (const RowTask& row : batch.rows) {
    hash = Mix(hash, static_cast<uint64_t>(row.task) | static_cast<uint64_t>(row.pooling) << 8 |
                         static_cast<uint64_t>(row.normalize) << 16);
    hash = Mix(hash, static_cast<uint32_t>(row.dimensions));
  }
  return hash;
}

}  // namespace trellis::engine
