// The memory of one batch: rows of several requests end to end, as the engine reads them.
#ifndef TRELLIS_SERVE_SERVER_PACKED_ROWS_H_
#define TRELLIS_SERVE_SERVER_PACKED_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "serve/engine/engine.h"
#include "serve/server/row_queue.h"

namespace trellis::server {

class PackedRows {
 public:
  // Forgets what was there and keeps its memory. Costs a copy of the rows.
  void Pack(std::span<const RowRef> rows);
  // Valid until the next Pack.
  engine::PackedBatch view() const { return {ids_, type_ids_, cu_seqlens_, tasks_}; }

 private:
  std::vector<int32_t> ids_, type_ids_, cu_seqlens_;
  std::vector<engine::RowTask> tasks_;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_PACKED_ROWS_H_
