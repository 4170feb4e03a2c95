// DrawIndex: an index drawn as libstdc++'s std::discrete_distribution does, which
// is what SentencePiece draws with; here on every platform.
#ifndef TRELLIS_INTERNAL_DRAW_INDEX_H_
#define TRELLIS_INTERNAL_DRAW_INDEX_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>

namespace trellis::internal {

// `weights` must not be empty; they need not add up to 1. One weight draws no
// number.
inline size_t DrawIndex(std::span<const double> weights, std::mt19937& random) {
  if (weights.size() < 2) return 0;
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  // 53 bits out of two draws, the low half first.
  constexpr double kTwo32 = 4294967296.0;
  const double low = random();
  const double drawn = std::min((low + random() * kTwo32) / (kTwo32 * kTwo32), std::nextafter(1.0, 0.0));
  double so_far = 0.0;
  for (size_t i = 0; i + 1 < weights.size(); ++i) {
    so_far += weights[i] / sum;
    if (so_far >= drawn) return i;
  }
  return weights.size() - 1;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_DRAW_INDEX_H_
