// A model as kernels on a device. The pipeline around it (pipeline.h) knows none of them.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_FORWARD_H_
#define TRELLIS_SERVE_ENGINE_CUDA_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "serve/engine/cuda/bucket.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/staging.h"
#include "serve/engine/engine.h"
#include "serve/engine/model_config.h"

namespace trellis::engine::cuda {

struct RowAnswer {
  std::vector<float> values;
  std::vector<int32_t> indices;  // kSparse only
};

class Forward {
 public:
  virtual ~Forward() = default;  // on the device's thread
  virtual const ModelConfig& config() const = 0;
  virtual const EngineLimits& limits() const = 0;
  virtual size_t row_bytes() const = 0;     // in the staging block, of each row
  virtual size_t output_bytes() const = 0;  // in pinned memory, of the largest batch

  // What the heads want to know of a row, into its row_bytes().
  virtual void DescribeRow(const RowTask& task, std::byte* out) const = 0;

  // On the device's thread. Encode enqueues all that a bucket's batches have in common, and is what graphs
  // are made of: it depends on the layout alone, and reads `block`, which is always the same memory.
  virtual DeviceStatus Encode(StreamId stream, const StagingLayout& layout, Buffer block) = 0;
  // The rest, by what the batch's rows ask for, and the copy to pinned memory.
  virtual DeviceStatus Answer(StreamId stream, const StagingLayout& layout, Buffer block,
                              const PackedBatch& batch, Buffer pinned) = 0;

  // On any thread, once the copy is there: a row's values from the pinned memory.
  virtual std::vector<RowAnswer> Read(const PackedBatch& batch, std::span<const std::byte> pinned) const = 0;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_FORWARD_H_
