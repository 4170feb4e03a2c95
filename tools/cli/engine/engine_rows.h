// Rows through an engine, their values back in the order of the rows. Rows are gathered until a batch is
// full; while the engine computes one batch the next is gathered.
#ifndef TRELLIS_TOOLS_CLI_ENGINE_ENGINE_ROWS_H_
#define TRELLIS_TOOLS_CLI_ENGINE_ENGINE_ROWS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "serve/engine/engine.h"
#include "trellis/encoding.h"

namespace trellis::cli {

class EngineRows {
 public:
  // Called in order of the rows; the values live until it returns.
  using Sink = std::function<absl::Status(std::span<const float> values)>;

  // `engine` must outlive this object. `rows_before`: where errors begin to count.
  EngineRows(engine::Engine& engine, const engine::RowTask& task, Sink sink, uint64_t rows_before = 0);
  ~EngineRows();
  EngineRows(const EngineRows&) = delete;
  EngineRows& operator=(const EngineRows&) = delete;

  // `type_ids` may be empty: all 0. The first error of any row is also that of every later call.
  absl::Status Add(std::span<const TokenId> ids, std::span<const uint8_t> type_ids);
  // All rows so far are handed to the sink.
  absl::Status Finish();

 private:
  struct Batch;
  absl::Status Submit();
  absl::Status FinishOldest();

  engine::Engine& engine_;
  const engine::RowTask task_;
  const Sink sink_;
  std::unique_ptr<Batch> gathered_;
  std::deque<std::unique_ptr<Batch>> in_flight_;
  uint64_t rows_done_;
  absl::Status status_;
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_ENGINE_ENGINE_ROWS_H_
