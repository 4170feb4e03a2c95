#include "serve/engine/cpu/dense.h"

#include <algorithm>
#include <utility>

namespace trellis::engine::cpu {

absl::StatusOr<Dense> Dense::Create(const Weights& weights, const std::string& name, Bias bias, int in,
                                    int out, Matmuls& matmuls, Crew& crew) {
  const MatmulShape shape{in, out, out, Precision::kF32, Output::kF32, {}};
  auto linear = ReadLinear(weights, {name}, bias, shape, matmuls, crew.threads());
  if (!linear.ok()) return linear.status();
  return Dense(*std::move(linear), in, out, crew);
}

std::span<float> Dense::Run(std::span<const float> rows) {
  const int count = static_cast<int>(rows.size()) / in_;
  const auto room = static_cast<size_t>(Linear::RowsRoom(count));
  float* const input = input_.Reserve(room * static_cast<size_t>(in_));
  float* const output = output_.Reserve(room * static_cast<size_t>(out_));
  std::copy(rows.begin(), rows.end(), input);
  linear_.Run(*crew_, input, {}, count, output, [](int) {});
  return {output, static_cast<size_t>(count) * static_cast<size_t>(out_)};
}

}  // namespace trellis::engine::cpu
