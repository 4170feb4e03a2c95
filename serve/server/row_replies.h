// From an engine's result to answers by row: the place where values are checked before anybody sees them.
#ifndef TRELLIS_SERVE_SERVER_ROW_REPLIES_H_
#define TRELLIS_SERVE_SERVER_ROW_REPLIES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "serve/engine/engine.h"
#include "serve/server/request.h"
#include "serve/server/row_queue.h"

namespace trellis::server {

// Index of the first value that is not finite, or values.size().
size_t FirstNonFinite(std::span<const float> values);

// One reply a row, in order, with the values copied. A row fails alone: with the engine's code, with
// kDataLoss if a value is not finite, with kInternal if the engine gave another number of values than the
// task has. `result` has been waited for.
std::vector<RowReply> CollectReplies(const engine::LazyResult& result, std::span<const RowRef> rows,
                                     const engine::EngineLimits& limits);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_ROW_REPLIES_H_
