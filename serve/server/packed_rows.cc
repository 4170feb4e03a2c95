#include "serve/server/packed_rows.h"

#include <cstddef>

namespace trellis::server {

void PackedRows::Pack(std::span<const RowRef> rows) {
  ids_.clear();
  type_ids_.clear();
  cu_seqlens_.assign(1, 0);
  tasks_.clear();
  for (const RowRef& ref : rows) {
    const Request& request = *ref.request;
    const auto begin = request.ids.begin() + request.cu_seqlens[ref.row];
    ids_.insert(ids_.end(), begin, begin + ref.tokens());
    cu_seqlens_.push_back(static_cast<int32_t>(ids_.size()));
    tasks_.push_back(request.rows[ref.row]);
    // The column exists as soon as one request has it: the rows before are all 0.
    if (request.type_ids.empty()) {
      if (!type_ids_.empty()) type_ids_.resize(ids_.size());
      continue;
    }
    type_ids_.resize(ids_.size() - static_cast<size_t>(ref.tokens()));
    const auto types = request.type_ids.begin() + request.cu_seqlens[ref.row];
    type_ids_.insert(type_ids_.end(), types, types + ref.tokens());
  }
}

}  // namespace trellis::server
