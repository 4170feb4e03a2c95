// What is done to a row of numbers between two matrix products. Each function reads and writes rows of `size`
// values and nothing else; all are also called with rows that are longer than one vector by a rest.
#ifndef TRELLIS_SERVE_ENGINE_CPU_ROW_KERNELS_H_
#define TRELLIS_SERVE_ENGINE_CPU_ROW_KERNELS_H_

#include <cstdint>
#include <optional>

#include "serve/engine/cpu/isa.h"
#include "serve/engine/model_config.h"

namespace trellis::engine::cpu {

// A row as unsigned bytes: value = scale * (byte - zero).
struct ByteRow {
  float scale = 1;
  int32_t zero = 0;
};

// Of the output columns of a layer of bytes.
struct ByteColumns {
  const float* scales = nullptr;
  const int32_t* sums = nullptr;
  const float* bias = nullptr;
};

struct RowKernels {
  // x = (x + added - mean) / sqrt(variance + eps) * gamma + beta. `added` may be null.
  void (*layer_norm)(float* x, const float* added, const float* gamma, const float* beta, float eps,
                     int size);
  // Rounds to nearest, ties to even.
  void (*to_bf16)(const float* x, int size, uint16_t* out);
  // Over the whole range of the row, 0 included, so that 0 stays 0.
  ByteRow (*to_bytes)(const float* x, int size, uint8_t* out);
  // out = activation(row.scale * weight_scales * (products - row.zero * weight_sums) + bias): what the
  // product of the numbers would have been. `products` and `out` may be the same memory.
  void (*from_bytes)(const int32_t* products, ByteRow row, const ByteColumns& columns,
                     std::optional<Activation> activation, int size, float* out);
};

const RowKernels& RowKernelsOf(Isa isa);

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_ROW_KERNELS_H_
