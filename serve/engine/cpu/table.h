// A table of rows in a model's file, looked up where it lies: most rows of a vocabulary are never touched.
#ifndef TRELLIS_SERVE_ENGINE_CPU_TABLE_H_
#define TRELLIS_SERVE_ENGINE_CPU_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "serve/engine/weights.h"

namespace trellis::engine::cpu {

// Copies rows of a [rows, width] tensor as floats. For one thread; it is cheap to make.
class TableReader {
 public:
  explicit TableReader(const Tensor& table)
      : width_(static_cast<size_t>(table.shape[1])), bytes_(table.bytes) {
    row_.dtype = table.dtype;
    row_.shape = {table.shape[1]};
    row_bytes_ = width_ * BytesOf(table.dtype);
  }

  size_t width() const { return width_; }
  // `out` has width() places.
  void Copy(int32_t row, std::span<float> out) {
    row_.bytes = bytes_.subspan(static_cast<size_t>(row) * row_bytes_, row_bytes_);
    row_.CopyTo(out);
  }

 private:
  size_t width_;
  size_t row_bytes_;
  std::span<const std::byte> bytes_;
  Tensor row_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_TABLE_H_
