#include "serve/server/grpc_limits.h"

#include <algorithm>
#include <limits>

namespace trellis::server {
namespace {

constexpr int64_t kLeast = int64_t{4} << 20;
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // what gRPC and protobuf can count
constexpr int64_t kFrame = int64_t{64} << 10;  // lengths, tags, task table, timings, a few failures
constexpr int64_t kQueuedBatches = 64;         // ServerOptions::max_queued_tokens == 0

int64_t VarintBytes(uint64_t value) {
  int64_t bytes = 1;
  while (value >= 0x80) value >>= 7, ++bytes;
  return bytes;
}

}  // namespace

MessageLimits LimitsFor(const engine::EngineLimits& engine, const ServerOptions& options,
                        int64_t override_bytes) {
  if (override_bytes > 0) return {override_bytes, override_bytes};
  const int64_t batch = options.max_batch_tokens > 0 ? options.max_batch_tokens : engine.max_batch_tokens;
  const int64_t tokens = options.max_queued_tokens > 0 ? options.max_queued_tokens : kQueuedBatches * batch;
  // A row has a token at least, so the worst request has as many rows as tokens.
  const int64_t token_bytes = VarintBytes(static_cast<uint64_t>(std::max(engine.vocab_size - 1, 0))) +
                              VarintBytes(static_cast<uint64_t>(std::max(engine.type_vocab_size - 1, 0)));
  const int64_t row_bytes = VarintBytes(static_cast<uint64_t>(tokens)) + 1;
  const int64_t request = tokens >= kMost ? kMost : tokens * (token_bytes + row_bytes) + kFrame;

  // Four bytes a value, up to five a varint.
  const int64_t dense = batch * engine.dimensions * 4;
  const int64_t sparse = engine.tasks[static_cast<int>(engine::Task::kSparse)]
                             ? std::max<int64_t>(batch, engine.vocab_size) * (4 + 5)
                             : 0;
  const int64_t logits = static_cast<int64_t>(engine.max_batch_rows) * engine.labels * 4;
  const int64_t rows = static_cast<int64_t>(engine.max_batch_rows) * 10;  // two offsets
  const int64_t reply = std::max({dense, sparse, logits}) + rows + kFrame;
  return {std::clamp(request, kLeast, kMost), std::clamp(std::max(reply, request), kLeast, kMost)};
}

int64_t ReplyBytesAtLeast(const engine::EngineLimits& engine, std::span<const engine::RowTask> rows,
                          std::span<const int32_t> cu_seqlens) {
  int64_t values = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    const int64_t dimensions = rows[r].dimensions > 0 ? rows[r].dimensions : engine.dimensions;
    switch (rows[r].task) {
      case engine::Task::kEmbed:
        values += dimensions;
        break;
      case engine::Task::kEmbedAll:
        values += dimensions * (int64_t{cu_seqlens[r + 1]} - cu_seqlens[r]);
        break;
      case engine::Task::kSparse:
        break;
      case engine::Task::kClassify:
        values += engine.labels;
        break;
    }
  }
  return values * 4 + static_cast<int64_t>(rows.size());  // and at least a byte for each row's offset
}

}  // namespace trellis::server
