// A client's rows as requests to replicas: as many rows as run well in one batch each, in order.
#ifndef TRELLIS_SERVE_GATEWAY_CHUNKS_H_
#define TRELLIS_SERVE_GATEWAY_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "serve/engine/engine.h"
#include "serve/gateway/replica.h"
#include "serve/gateway/row_encoder.h"

namespace trellis::gateway {

struct ChunkLimits {
  int64_t max_tokens = 0;  // of a chunk of more than one row
  size_t max_rows = 0;
};

// Without `done` and origin. Rows keep their order, over all chunks. More than one chunk is bulk work: a
// query that comes meanwhile goes first.
std::vector<ReplicaRequest> SplitByTokens(const EncodedRows& rows, const engine::RowTask& task,
                                          const ChunkLimits& limits);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_CHUNKS_H_
