// The contract between the batching server and whatever computes: numbers only. Nothing here knows of text, requests,
// transports or devices, and every engine (synthetic, CPU, CUDA) is built to this one file.
//
// One thread calls Step. It returns as soon as the work is handed over, so that the caller can pack the next batch while
// this one runs; at most limits().max_in_flight results may be unfinished at a time. Wait and row may be called from
// another thread than Step.
#ifndef TRELLIS_SERVE_ENGINE_ENGINE_H_
#define TRELLIS_SERVE_ENGINE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trellis::engine {

// What a row asks for, and so how many values it gets.
enum class Task : uint8_t {
  kEmbed,     // [dimensions]: one pooled vector
  kEmbedAll,  // [tokens, dimensions]: one vector a token, row-major
  kSparse,    // [n] weights > 0, with n token ids in RowValues::indices, ascending
  kClassify,  // [labels] logits: a reranker has one label
};
inline constexpr int kTasks = 4;

enum class Pooling : uint8_t { kModel, kMean, kCls, kLast };  // kModel: as the model's folder says
enum class Normalize : uint8_t { kNone, kL2 };

struct RowTask {
  Task task = Task::kEmbed;
  Pooling pooling = Pooling::kModel;        // kEmbed only
  Normalize normalize = Normalize::kL2;     // kEmbed and kEmbedAll: after the cut to `dimensions`
  int32_t dimensions = 0;                   // kEmbed and kEmbedAll: the first so many; 0: all
};

// Rows end to end, no padding. Row r has the tokens [cu_seqlens[r], cu_seqlens[r + 1]); no row is empty.
// The caller's memory: it stays as it is until the result of the Step has been waited for or destroyed.
struct PackedBatch {
  std::span<const int32_t> ids;         // [tokens], each in [0, limits().vocab_size)
  std::span<const int32_t> type_ids;    // [tokens], or empty: all 0
  std::span<const int32_t> cu_seqlens;  // [rows + 1]; the first is 0
  std::span<const RowTask> rows;        // [rows]

  size_t num_rows() const { return rows.size(); }
  size_t num_tokens() const { return ids.size(); }
};

// Fixed for the life of an engine. The server admits only what fits, so an engine need not check it again.
struct EngineLimits {
  int32_t max_row_tokens = 0;
  int32_t max_batch_tokens = 0;
  int32_t max_batch_rows = 0;
  int32_t max_in_flight = 1;
  int32_t vocab_size = 0;
  int32_t type_vocab_size = 1;
  int32_t dimensions = 0;               // 0: no embeddings
  int32_t labels = 0;                   // 0: no classification
  bool tasks[kTasks] = {};              // by Task: whether the model has it
  std::string model;                    // name for metrics and replies
};

// One row's outcome. Values that are not finite are handed on as they are: the server refuses them by row.
struct RowValues {
  absl::StatusCode status = absl::StatusCode::kOk;
  std::span<const float> values;     // valid as long as the result
  std::span<const int32_t> indices;  // kSparse only
};

// The result of a Step, perhaps still being computed. The destructor waits until the batch's memory is no longer read.
class LazyResult {
 public:
  virtual ~LazyResult() = default;
  virtual bool Ready() const = 0;  // never blocks
  // Blocks until the batch is done. Any error but kUnavailable: this batch failed, the engine goes on.
  // kUnavailable: the engine is dead, and so is every later Step.
  virtual absl::Status Wait() = 0;
  virtual RowValues row(size_t index) const = 0;  // after Wait returned OK
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineLimits& limits() const = 0;
  // An error is as one from Wait. Never null.
  virtual absl::StatusOr<std::unique_ptr<LazyResult>> Step(const PackedBatch& batch) = 0;
};

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_ENGINE_H_
