#include "python/src/id_rows.h"

#include <algorithm>
#include <string>

#include "python/src/raise.h"

namespace trellis::python {
namespace {

// What one thread made of a chunk.
struct ChunkRows {
  std::vector<TokenId> ids;
  std::vector<uint8_t> type_ids;
  std::vector<int64_t> ends;
};

}  // namespace

absl::StatusOr<IdRows> EncodeIdRows(LoadedTokenizer& loaded, const IdRowsRequest& request) {
  std::vector<ChunkRows> chunks;
  const absl::Status status = loaded.pool.ForEachChunk(
      request.inputs.size(), request.bytes, request.threads, [&](size_t count) { chunks.resize(count); },
      [&](cli::TextEncoder& encoder, const Chunk& chunk) -> absl::Status {
        ChunkRows& rows = chunks[chunk.number];
        for (size_t i = chunk.begin; i < chunk.end; ++i) {
          if (!request.validity.empty() && (request.validity[i / 8] >> (i % 8) & 1) == 0) {
            rows.ends.push_back(static_cast<int64_t>(rows.ids.size()));
            continue;
          }
          const absl::StatusOr<Encoding> encoding = encoder.Encode(request.inputs[i], request.options);
          if (!encoding.ok()) {
            return At(std::string(request.name) + "[" + std::to_string(i) + "]", encoding.status());
          }
          rows.ids.insert(rows.ids.end(), encoding->ids.begin(), encoding->ids.end());
          if (request.type_ids) {
            rows.type_ids.insert(rows.type_ids.end(), encoding->type_ids.begin(), encoding->type_ids.end());
          }
          rows.ends.push_back(static_cast<int64_t>(rows.ids.size()));
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  size_t tokens = 0;
  for (const ChunkRows& rows : chunks) tokens += rows.ids.size();
  IdRows out;
  out.ids = std::make_unique_for_overwrite<TokenId[]>(tokens);
  if (request.type_ids) out.type_ids = std::make_unique_for_overwrite<uint8_t[]>(tokens);
  out.cu_seqlens.reserve(request.inputs.size() + 1);
  out.cu_seqlens.push_back(0);
  for (ChunkRows& rows : chunks) {
    const int64_t begin = out.cu_seqlens.back();
    std::copy(rows.ids.begin(), rows.ids.end(), out.ids.get() + begin);
    if (request.type_ids) std::copy(rows.type_ids.begin(), rows.type_ids.end(), out.type_ids.get() + begin);
    for (const int64_t end : rows.ends) out.cu_seqlens.push_back(begin + end);
    rows = {};  // not twice in memory for longer than need be
  }
  return out;
}

}  // namespace trellis::python
