// The few sums that answers need beyond what an engine gives.
#ifndef TRELLIS_SERVE_GATEWAY_VECTORS_H_
#define TRELLIS_SERVE_GATEWAY_VECTORS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace trellis::gateway {

// Of two vectors as long as each other; 0 where one of them is all 0. In [-1, 1] whatever the rounding.
inline float Cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  if (aa == 0 || bb == 0) return 0;
  return static_cast<float>(std::clamp(dot / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0));
}

inline float Sigmoid(float logit) { return static_cast<float>(1 / (1 + std::exp(-double{logit}))); }

inline std::vector<float> Softmax(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - most);
  std::vector<float> shares;
  for (const float logit : logits) shares.push_back(static_cast<float>(std::exp(double{logit} - most) / sum));
  return shares;
}

// Places of the values, largest first; of equal ones the lower place first.
inline std::vector<size_t> Descending(std::span<const float> values) {
  std::vector<size_t> places(values.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
  return places;
}

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_VECTORS_H_
