// LayerNorm in double.
#ifndef TRELLIS_TESTS_SERVE_ENGINE_CUDA_KERNELS_LAYER_NORM_FORMULA_H_
#define TRELLIS_TESTS_SERVE_ENGINE_CUDA_KERNELS_LAYER_NORM_FORMULA_H_

#include <string>
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {

// Of `values` against the `values.size()` numbers at `out`.
inline void ExpectLayerNorm(HalfType type, const std::vector<double>& values, const std::vector<float>& gamma,
                            const std::vector<float>& beta, double epsilon, const Bits16* out,
                            const std::string& where) {
  double mean = 0, variance = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values)
    variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double normalized = (values[i] - mean) / std::sqrt(variance + epsilon);
    const double expected = normalized * double{gamma[i]} + double{beta[i]};
    // Floats come near the normalized value, whose rounding error gamma then multiplies.
    const double bound = kSumError * (1 + (1 + std::abs(normalized)) * std::abs(double{gamma[i]}));
    ExpectRounded(type, out[i], expected, bound,
                  where + " of " + std::to_string(values.size()) + ", column " + std::to_string(i));
  }
}

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_TESTS_SERVE_ENGINE_CUDA_KERNELS_LAYER_NORM_FORMULA_H_
