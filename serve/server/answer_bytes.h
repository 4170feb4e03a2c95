// How long an answer may become, counted as its transports pack it: before it is computed, to refuse what
// could never be sent and to bound what is held; and after, to refuse what turned out too long.
#ifndef TRELLIS_SERVE_SERVER_ANSWER_BYTES_H_
#define TRELLIS_SERVE_SERVER_ANSWER_BYTES_H_

#include <cstdint>
#include <span>

#include "serve/engine/engine.h"
#include "serve/server/request.h"

namespace trellis::server {

// Of an answer without rows: lengths, tags, timings.
inline constexpr int64_t kAnswerBytes = 64;
// Of a row beside its values: its two offsets.
inline constexpr int64_t kAnswerRowBytes = 10;
// Of a row that failed, beside that: number and code. A message takes what is left.
inline constexpr int64_t kFailedRowBytes = 16;

// How many weights a sparse row has is known only when it is computed: none at least, and one for each token
// at most.
struct AnswerLength {
  int64_t least = 0;
  int64_t most = 0;
};
AnswerLength ExpectedAnswerBytes(const engine::EngineLimits& engine, std::span<const engine::RowTask> rows,
                                 std::span<const int32_t> cu_seqlens);

// Of a computed answer, the messages of failed rows left out.
int64_t AnswerBytes(std::span<const RowReply> rows);

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_ANSWER_BYTES_H_
