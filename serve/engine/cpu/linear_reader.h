// Linear layers out of a model's tensors.
#ifndef TRELLIS_SERVE_ENGINE_CPU_LINEAR_READER_H_
#define TRELLIS_SERVE_ENGINE_CPU_LINEAR_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/linear.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cpu {

enum class Bias : uint8_t { kThere, kPerhaps };  // kPerhaps: one that is not there is 0

// `weight` and `bias` below each name ("a.b." or ""), one under the other: layers that read the same input
// are one product. Each gives an equal part of shape.out. Errors name the tensor.
absl::StatusOr<Linear> ReadLinear(const Weights& weights, const std::vector<std::string>& names, Bias bias,
                                  const MatmulShape& shape, Matmuls& matmuls, int threads);

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_LINEAR_READER_H_
