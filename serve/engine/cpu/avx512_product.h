// Products of floats by AVX-512, with what follows them. oneDNN's take a third longer here (README.md,
// "Measured").
#ifndef TRELLIS_SERVE_ENGINE_CPU_AVX512_PRODUCT_H_
#define TRELLIS_SERVE_ENGINE_CPU_AVX512_PRODUCT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "serve/engine/cpu/aligned.h"
#include "serve/engine/cpu/matmul.h"

namespace trellis::engine::cpu {

// A weight in the order in which it is read.
class Avx512Weight {
 public:
  // Whether this processor has AVX-512 and the shape is one of floats that fills whole panels.
  static bool Suits(const MatmulShape& shape);

  // `weight` is [out, in], row-major.
  Avx512Weight(std::span<const float> weight, std::span<const float> bias, int in);

  // The layer for `rows` rows that lie end to end at `in` and the columns [from, from + columns), both
  // multiples of
  // 32. `out` is where the first of these goes; its rows are `out_stride` values apart.
  void Multiply(const float* in, int rows, int from, int columns, std::optional<Activation> activation,
                float* out, size_t out_stride) const;

 private:
  int in_;
  Aligned<float> panels_;
  std::vector<float> bias_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_AVX512_PRODUCT_H_
