// Products of bf16 or bytes by AMX tiles, with what follows them: bias, activation, rounding. oneDNN's take
// two to three times as long here (README.md, "Measured"), since they do one after the other what this does
// at the same time.
#ifndef TRELLIS_SERVE_ENGINE_CPU_AMX_PRODUCT_H_
#define TRELLIS_SERVE_ENGINE_CPU_AMX_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "serve/engine/cpu/aligned.h"
#include "serve/engine/cpu/isa.h"
#include "serve/engine/cpu/matmul.h"
#include "serve/engine/cpu/row_kernels.h"

namespace trellis::engine::cpu {

// A weight in the order of the tiles.
class AmxWeight {
 public:
  // Whether this process may use AMX for it, its shape fills whole tiles, and it has what follows.
  static bool Suits(const MatmulShape& shape);

  // `weight` is [out, in], row-major. For bytes the scales, sums and bias of ByteColumns come with it.
  AmxWeight(std::span<const float> weight, std::span<const float> bias, int in);
  AmxWeight(std::span<const int8_t> weight, std::span<const float> scales, std::span<const int32_t> sums,
            std::span<const float> bias, int in);

  // The layer for `rows` rows that lie end to end at `in`, where there is room for them in steps of 16, and
  // the columns [from, from + columns), both multiples of 32. `out` is where the first of these goes; its
  // rows are `out_stride` values apart. `byte_rows` is for bytes only. GELU is within 1e-4 of what it should
  // be.
  void Multiply(const void* in, const ByteRow* byte_rows, int rows, int from, int columns,
                std::optional<Activation> activation, Output output, void* out, size_t out_stride) const;

 private:
  Precision precision_;
  int in_;
  Aligned<std::byte> tiles_;
  std::vector<float> bias_;
  std::vector<float> scales_, sums_;  // bytes only; the sums times their scale
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_AMX_PRODUCT_H_
