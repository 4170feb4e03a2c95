#include "serve/server/answer_bytes.h"

#include <algorithm>
#include <cstddef>

namespace trellis::server {
namespace {

constexpr int64_t kValueBytes = 4;
constexpr int64_t kIndexBytes = 5;  // the longest varint

// Of a row with so many values and indices, failed or not.
int64_t RowBytes(int64_t values, int64_t indices) {
  return kAnswerRowBytes + std::max(kFailedRowBytes, values * kValueBytes + indices * kIndexBytes);
}

}  // namespace

AnswerLength ExpectedAnswerBytes(const engine::EngineLimits& engine, std::span<const engine::RowTask> rows,
                                 std::span<const int32_t> cu_seqlens) {
  AnswerLength length{kAnswerBytes, kAnswerBytes};
  for (size_t r = 0; r < rows.size(); ++r) {
    // More than the model has is refused elsewhere, and for that reason.
    const bool cut = rows[r].dimensions > 0 && rows[r].dimensions < engine.dimensions;
    const int64_t dimensions = cut ? rows[r].dimensions : engine.dimensions;
    const int64_t tokens = int64_t{cu_seqlens[r + 1]} - cu_seqlens[r];
    int64_t values = 0, weights = 0;
    switch (rows[r].task) {
      case engine::Task::kEmbed:
        values = dimensions;
        break;
      case engine::Task::kEmbedAll:
        values = dimensions * tokens;
        break;
      case engine::Task::kSparse:
        weights = tokens;
        break;
      case engine::Task::kClassify:
        values = engine.labels;
        break;
    }
    length.least += RowBytes(values, 0);
    length.most += RowBytes(values + weights, weights);
  }
  return length;
}

int64_t AnswerBytes(std::span<const RowReply> rows) {
  int64_t bytes = kAnswerBytes;
  for (const RowReply& row : rows) {
    const bool good = row.status.ok();
    bytes += RowBytes(good ? static_cast<int64_t>(row.values.size()) : 0,
                      good ? static_cast<int64_t>(row.indices.size()) : 0);
  }
  return bytes;
}

}  // namespace trellis::server
