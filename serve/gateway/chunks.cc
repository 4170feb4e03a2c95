#include "serve/gateway/chunks.h"

#include <utility>

namespace trellis::gateway {
namespace {

server::Request Chunk(const EncodedRows& rows, const engine::RowTask& task, size_t begin, size_t end) {
  server::Request chunk;
  const int32_t first = rows.cu_seqlens[begin], last = rows.cu_seqlens[end];
  chunk.ids.assign(rows.ids.begin() + first, rows.ids.begin() + last);
  if (!rows.type_ids.empty())
    chunk.type_ids.assign(rows.type_ids.begin() + first, rows.type_ids.begin() + last);
  chunk.cu_seqlens.reserve(end - begin + 1);
  for (size_t r = begin; r <= end; ++r) chunk.cu_seqlens.push_back(rows.cu_seqlens[r] - first);
  chunk.rows.assign(end - begin, task);
  return chunk;
}

}  // namespace

std::vector<ReplicaRequest> SplitByTokens(const EncodedRows& rows, const engine::RowTask& task,
                                          const ChunkLimits& limits) {
  std::vector<ReplicaRequest> chunks;
  size_t begin = 0;
  int64_t tokens = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r > begin && (tokens + rows.tokens(r) > limits.max_tokens || r - begin == limits.max_rows)) {
      chunks.push_back(Chunk(rows, task, begin, r));
      begin = r;
      tokens = 0;
    }
    tokens += rows.tokens(r);
  }
  if (begin < rows.size()) chunks.push_back(Chunk(rows, task, begin, rows.size()));
  if (chunks.size() > 1) {
    for (ReplicaRequest& chunk : chunks) chunk.priority = server::Priority::kBulk;
  }
  return chunks;
}

}  // namespace trellis::gateway
