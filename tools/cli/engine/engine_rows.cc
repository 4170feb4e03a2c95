#include "tools/cli/engine/engine_rows.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::cli {

struct EngineRows::Batch {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;
  std::vector<int32_t> cu_seqlens = {0};
  std::vector<engine::RowTask> tasks;
  // Last, and so gone first: it may still read the rest.
  std::unique_ptr<engine::LazyResult> result;
};

EngineRows::EngineRows(engine::Engine& engine, const engine::RowTask& task, Sink sink, uint64_t rows_before)
    : engine_(engine),
      task_(task),
      sink_(std::move(sink)),
      gathered_(std::make_unique<Batch>()),
      rows_done_(rows_before) {}
EngineRows::~EngineRows() = default;

absl::Status EngineRows::Add(std::span<const TokenId> ids, std::span<const uint8_t> type_ids) {
  if (!status_.ok()) return status_;
  const engine::EngineLimits& limits = engine_.limits();
  if (ids.empty()) return absl::InvalidArgumentError("no tokens, expected at least one");
  const int64_t most = std::min(limits.max_row_tokens, limits.max_batch_tokens);
  if (static_cast<int64_t>(ids.size()) > most) {
    return absl::InvalidArgumentError(absl::StrCat(ids.size(), " tokens, expected at most ", most));
  }
  if (gathered_->ids.size() + ids.size() > static_cast<size_t>(limits.max_batch_tokens) ||
      gathered_->tasks.size() == static_cast<size_t>(limits.max_batch_rows)) {
    if (const absl::Status submitted = Submit(); !submitted.ok()) return submitted;
  }
  Batch& batch = *gathered_;
  batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
  batch.type_ids.insert(batch.type_ids.end(), type_ids.begin(), type_ids.end());
  batch.type_ids.resize(batch.ids.size());
  batch.cu_seqlens.push_back(static_cast<int32_t>(batch.ids.size()));
  batch.tasks.push_back(task_);
  return absl::OkStatus();
}

absl::Status EngineRows::Finish() {
  if (!gathered_->tasks.empty()) (void)Submit();
  while (status_.ok() && !in_flight_.empty()) (void)FinishOldest();
  return status_;
}

absl::Status EngineRows::Submit() {
  if (!status_.ok()) return status_;
  if (in_flight_.size() >= static_cast<size_t>(std::max(1, engine_.limits().max_in_flight))) {
    if (!FinishOldest().ok()) return status_;
  }
  std::unique_ptr<Batch> batch = std::exchange(gathered_, std::make_unique<Batch>());
  auto result = engine_.Step({batch->ids, batch->type_ids, batch->cu_seqlens, batch->tasks});
  if (!result.ok()) return status_ = result.status();
  batch->result = *std::move(result);
  in_flight_.push_back(std::move(batch));
  return absl::OkStatus();
}

absl::Status EngineRows::FinishOldest() {
  const std::unique_ptr<Batch> batch = std::move(in_flight_.front());
  in_flight_.pop_front();
  status_ = batch->result->Wait();
  for (size_t i = 0; status_.ok() && i < batch->tasks.size(); ++i, ++rows_done_) {
    const engine::RowValues row = batch->result->row(i);
    const auto failed = [&](absl::StatusCode code, const char* what) {
      status_ = absl::Status(code, absl::StrCat("text ", rows_done_ + 1, " of the input: ", what));
    };
    if (row.status != absl::StatusCode::kOk) {
      failed(row.status, "the engine could not compute it");
    } else if (!std::all_of(row.values.begin(), row.values.end(), [](float v) { return std::isfinite(v); })) {
      failed(absl::StatusCode::kInternal, "the model's numbers are not finite");
    } else {
      status_ = sink_(row.values);
    }
  }
  return status_;
}

}  // namespace trellis::cli
