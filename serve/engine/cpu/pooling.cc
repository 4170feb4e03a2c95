#include "serve/engine/cpu/pooling.h"

#include <cmath>
#include <cstddef>

namespace trellis::engine::cpu {

std::vector<float> Pool(Pooling pooling, std::span<const float> states, int hidden) {
  const auto size = static_cast<size_t>(hidden);
  if (pooling == Pooling::kCls) return {states.begin(), states.begin() + hidden};
  if (pooling == Pooling::kLast) return {states.end() - hidden, states.end()};
  std::vector<float> mean(size);
  for (size_t at = 0; at < states.size(); at += size) {
    for (size_t i = 0; i < size; ++i) mean[i] += states[at + i];
  }
  const float share = 1.0f / static_cast<float>(states.size() / size);
  for (float& value : mean) value *= share;
  return mean;
}

void ScaleToOne(std::span<float> vector) {
  double squares = 0;
  for (const float value : vector) squares += double{value} * double{value};
  if (squares == 0) return;
  const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
  for (float& value : vector) value *= scale;
}

}  // namespace trellis::engine::cpu
