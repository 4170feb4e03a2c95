// A model of three kernels and a product, in whole numbers, so that what must come out is worked out by hand
// and exact:
//   x[t] = id[t] % 8 + position[t] % 4 + 2 * type[t]; g[t][c] = x[t] + 1 + c; y[t][c] = g[t][c] + sum of
//   g[u][0] over the row answer[row][c] = sum of y[t][c] over the row, for the first so many c that the row
//   asks for, 0 after
// All of it reads the staging block as the real kernels do: lengths and tiles from the device, nothing from
// the batch.
#ifndef TRELLIS_TESTS_SERVE_ENGINE_CUDA_TOY_MODEL_H_
#define TRELLIS_TESTS_SERVE_ENGINE_CUDA_TOY_MODEL_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "serve/engine/cuda/device_error.h"
#include "serve/engine/cuda/device_thread.h"
#include "serve/engine/cuda/emulation/half_rounding.h"
#include "serve/engine/cuda/forward.h"

namespace trellis::engine::cuda {

inline constexpr int32_t kToyWidth = 16;  // of x and g, in bf16
inline constexpr int32_t kToyValues = 4;  // of an answer

struct ToyRows {
  std::vector<int32_t> ids, type_ids, cu_seqlens{0};
  std::vector<RowTask> tasks;

  ToyRows& Add(const std::vector<int32_t>& row, int32_t dimensions = 0) {
    ids.insert(ids.end(), row.begin(), row.end());
    cu_seqlens.push_back(static_cast<int32_t>(ids.size()));
    tasks.push_back({Task::kEmbed, Pooling::kModel, Normalize::kNone, dimensions});
    return *this;
  }
  // Rows of these lengths, and ids that differ.
  static ToyRows Of(const std::vector<int32_t>& lengths, int32_t first_id = 0) {
    ToyRows rows;
    for (const int32_t length : lengths) {
      std::vector<int32_t> row;
      for (int32_t i = 0; i < length; ++i) row.push_back((first_id + i * i) % 100);
      rows.Add(row);
    }
    return rows;
  }
  PackedBatch view() const { return {ids, type_ids, cu_seqlens, tasks}; }
};

// The definition, row by row, without a device.
inline std::vector<std::vector<float>> ToyAnswers(const ToyRows& rows) {
  std::vector<std::vector<float>> answers;
  for (size_t row = 0; row < rows.tasks.size(); ++row) {
    const int32_t begin = rows.cu_seqlens[row], length = rows.cu_seqlens[row + 1] - begin;
    int64_t sum = 0;  // of x + 1
    for (int32_t i = 0; i < length; ++i) {
      const auto t = static_cast<size_t>(begin + i);
      sum += rows.ids[t] % 8 + i % 4 + (rows.type_ids.empty() ? 0 : 2 * rows.type_ids[t]) + 1;
    }
    std::vector<float> answer(kToyValues);
    const int32_t asked = rows.tasks[row].dimensions;
    for (int32_t c = 0; c < (asked == 0 ? kToyValues : asked); ++c) {
      answer[static_cast<size_t>(c)] = static_cast<float>(sum + int64_t{length} * c + length * sum);
    }
    answers.push_back(answer);
  }
  return answers;
}

enum class ToyBug : uint8_t {
  kNone,
  kRowsOfTheBatch
};  // the latter bakes into a graph how many rows its batch had

class ToyModel : public Forward {
 public:
  static absl::StatusOr<std::unique_ptr<Forward>> Load(Device& device, StreamId stream,
                                                       ToyBug bug = ToyBug::kNone) {
    auto model = std::unique_ptr<ToyModel>(new ToyModel(device, bug));
    if (auto status = model->Allocate(stream); !status.ok()) return status;
    return model;
  }
  ~ToyModel() override {
    for (const Buffer& buffer : owned_) (void)device_.Free(buffer);
  }

  const ModelConfig& config() const override { return config_; }
  const EngineLimits& limits() const override { return limits_; }
  size_t row_bytes() const override { return sizeof(int32_t); }
  size_t output_bytes() const override { return AnswerBytes(RowBucket(limits_.max_batch_rows)); }
  void DescribeRow(const RowTask& task, std::byte* out) const override {
    std::memcpy(out, &task.dimensions, sizeof task.dimensions);
    ++described_;
  }

  DeviceStatus Encode(StreamId stream, const StagingLayout& layout, Buffer block) override {
    const int32_t tokens = layout.bucket().tokens;
    const Buffer ids = layout.ids(block), positions = layout.positions(block), types = layout.types(block);
    Launch embed{"toy_embed", {ids, positions, types}, {x_}};
    embed.body = [x = x_.as<uint16_t>(), ids, positions, types, tokens](void*) {
      for (int32_t t = 0; t < tokens; ++t) {
        const int32_t value =
            ids.as<int32_t>()[t] % 8 + positions.as<int32_t>()[t] % 4 + 2 * types.as<int32_t>()[t];
        for (int32_t c = 0; c < kToyWidth; ++c) {
          x[t * kToyWidth + c] = emulation::Bf16OfFloat(static_cast<float>(value));
        }
      }
    };
    if (auto status = device_.EnqueueKernel(stream, embed); status != DeviceStatus::kOk) return status;
    const GemmCall product{{tokens, kToyWidth, kToyWidth}, x_, weight_, bias_, g_, workspace_};
    if (auto status = device_.EnqueueGemm(stream, product); status != DeviceStatus::kOk) return status;

    const int32_t rows = bug_ == ToyBug::kNone ? layout.bucket().rows : std::exchange(described_, 0);
    const Buffer starts = layout.cu_seqlens(block), tiles = layout.tiles(block);
    Launch mix{"toy_mix", {g_, starts, tiles}, {y_}};
    mix.grid.x = static_cast<uint32_t>(TilesOf(layout.bucket()));
    mix.body = [this, starts, tiles, rows](void*) {
      for (size_t i = 0; i < tiles.size / sizeof(QueryTile); ++i) {
        const QueryTile tile = tiles.as<QueryTile>()[i];
        if (tile.row >= 0 && tile.row < rows) Mix(tile, starts.as<int32_t>());
      }
    };
    return device_.EnqueueKernel(stream, mix);
  }

  DeviceStatus Answer(StreamId stream, const StagingLayout& layout, Buffer block, const PackedBatch& batch,
                      Buffer pinned) override {
    const auto rows = static_cast<int32_t>(batch.num_rows());
    const Buffer starts = layout.cu_seqlens(block), asked = layout.rows(block);
    Launch pool{"toy_pool", {y_, starts, asked}, {answers_}};
    pool.body = [y = y_.as<float>(), out = answers_.as<float>(), starts, asked, rows](void*) {
      for (int32_t row = 0; row < rows; ++row) {
        const int32_t values = asked.as<int32_t>()[row] == 0 ? kToyValues : asked.as<int32_t>()[row];
        for (int32_t c = 0; c < kToyValues; ++c) {
          float sum = 0;
          for (int32_t t = starts.as<int32_t>()[row]; t < starts.as<int32_t>()[row + 1]; ++t) {
            sum += y[t * kToyValues + c];
          }
          out[row * kToyValues + c] = c < values ? sum : 0;
        }
      }
    };
    if (auto status = device_.EnqueueKernel(stream, pool); status != DeviceStatus::kOk) return status;
    const size_t bytes = AnswerBytes(rows);
    return device_.EnqueueCopy(stream, pinned.Part(0, bytes), answers_.Part(0, bytes));
  }

  std::vector<RowAnswer> Read(const PackedBatch& batch, std::span<const std::byte> pinned) const override {
    std::vector<RowAnswer> rows(batch.num_rows());
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row].values.resize(kToyValues);
      std::memcpy(rows[row].values.data(), pinned.data() + row * AnswerBytes(1), AnswerBytes(1));
    }
    return rows;
  }

 private:
  ToyModel(Device& device, ToyBug bug) : device_(device), bug_(bug) {
    config_.positions = Positions::kIndex;
    limits_.max_row_tokens = 300;
    limits_.max_batch_tokens = 600;
    limits_.max_batch_rows = 64;
    limits_.max_in_flight = 2;
    limits_.vocab_size = 100;
    limits_.type_vocab_size = 2;
    limits_.dimensions = kToyValues;
    limits_.tasks[static_cast<int>(Task::kEmbed)] = true;
    limits_.model = "toy";
  }

  static size_t AnswerBytes(int32_t rows) { return static_cast<size_t>(rows * kToyValues) * sizeof(float); }

  absl::Status Own(Buffer& buffer, size_t bytes) {
    auto status = DeviceError(device_.Allocate(bytes, &buffer), "memory of the toy model", bytes);
    if (status.ok()) owned_.push_back(buffer);
    return status;
  }

  absl::Status Allocate(StreamId stream) {
    const auto tokens = static_cast<size_t>(TokenBucket(limits_.max_batch_tokens));
    const size_t halves = tokens * kToyWidth * sizeof(uint16_t),
                 square = kToyWidth * kToyWidth * sizeof(uint16_t);
    const std::pair<Buffer*, size_t> all[] = {{&x_, halves},
                                              {&g_, halves},
                                              {&y_, tokens * kToyValues * sizeof(float)},
                                              {&answers_, output_bytes()},
                                              {&weight_, square},
                                              {&bias_, kToyWidth * sizeof(uint16_t)},
                                              {&workspace_, kAlignment}};
    for (const auto& [buffer, bytes] : all) {
      if (auto status = Own(*buffer, bytes); !status.ok()) return status;
    }
    // The identity, and 1 + c: as a checkpoint would be uploaded.
    Buffer pinned;
    auto status = DeviceError(device_.AllocatePinned(square + bias_.size, &pinned), "the upload");
    if (!status.ok()) return status;
    auto* const numbers = pinned.as<uint16_t>();
    for (int32_t i = 0; i < kToyWidth * kToyWidth; ++i) {
      numbers[i] = emulation::Bf16OfFloat(i % kToyWidth == i / kToyWidth ? 1.0f : 0.0f);
    }
    for (int32_t c = 0; c < kToyWidth; ++c) {
      numbers[kToyWidth * kToyWidth + c] = emulation::Bf16OfFloat(static_cast<float>(c + 1));
    }
    DeviceStatus done = device_.EnqueueCopy(stream, weight_, pinned.Part(0, square));
    if (done == DeviceStatus::kOk) done = device_.EnqueueCopy(stream, bias_, pinned.Part(square, bias_.size));
    const DeviceStatus waited = device_.Synchronize(stream);
    if (done == DeviceStatus::kOk) done = waited;
    const DeviceStatus freed = device_.Free(pinned);
    return DeviceError(done == DeviceStatus::kOk ? freed : done, "the upload");
  }

  void Mix(QueryTile tile, const int32_t* starts) const {
    const auto* const g = g_.as<uint16_t>();
    const int32_t begin = starts[tile.row], end = starts[tile.row + 1];
    float sum = 0;
    for (int32_t u = begin; u < end; ++u) sum += emulation::FloatOfBf16(g[u * kToyWidth]);
    for (int32_t t = begin + tile.first; t < end && t < begin + tile.first + kTileQueries; ++t) {
      for (int32_t c = 0; c < kToyValues; ++c) {
        y_.as<float>()[t * kToyValues + c] = emulation::FloatOfBf16(g[t * kToyWidth + c]) + sum;
      }
    }
  }

  Device& device_;
  const ToyBug bug_;
  mutable int32_t described_ = 0;
  ModelConfig config_;
  EngineLimits limits_;
  Buffer x_, g_, y_, answers_, weight_, bias_, workspace_;
  std::vector<Buffer> owned_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_TESTS_SERVE_ENGINE_CUDA_TOY_MODEL_H_
