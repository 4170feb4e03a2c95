#include "serve/server/grpc_limits.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "serve/server/answer_bytes.h"

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

absl::Status CheckMessageBytes(const engine::EngineLimits& engine, int64_t override_bytes) {
  // Both ids of a token as long as they can be, and a row's other fields.
  const int64_t request = int64_t{engine.max_row_tokens} * 10 + kAnswerBytes;
  const int64_t reply =
      kAnswerBytes + kAnswerRowBytes +
      std::max<int64_t>({kFailedRowBytes, int64_t{engine.dimensions} * 4, int64_t{engine.labels} * 4});
  const int64_t least = std::max(request, reply);
  if (override_bytes == 0 || override_bytes >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(override_bytes, ", expected 0 or at least ", least,
                                                 ", which one row of this model can need"));
}

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
  const int64_t rows = static_cast<int64_t>(engine.max_batch_rows) * kAnswerRowBytes;
  const int64_t reply = std::max({dense, sparse, logits}) + rows + kFrame;
  const int64_t failed = tokens >= kMost ? kMost : tokens * (kAnswerRowBytes + kFailedRowBytes) + kFrame;
  return {std::clamp(request, kLeast, kMost), std::clamp(std::max({reply, request, failed}), kLeast, kMost)};
}

}  // namespace trellis::server
