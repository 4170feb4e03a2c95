// What a layer does to its sums, for vectors of N floats (lanes.h).
#ifndef TRELLIS_SERVE_ENGINE_CPU_ACTIVATIONS_H_
#define TRELLIS_SERVE_ENGINE_CPU_ACTIVATIONS_H_

#include <cstdint>
#include <optional>

#include "serve/engine/cpu/lanes.h"
#include "serve/engine/model_config.h"

namespace trellis::engine::cpu {

template <int N>
TRELLIS_LANES_INLINE void Tanh(typename Lanes<N>::F& x) {
  // By e^(-2|x|), which never overflows.
  using F = typename Lanes<N>::F;
  const F none = {};
  F e = x > none ? -2.0f * x : 2.0f * x;
  Lanes<N>::Exp(e);
  const F t = (1.0f - e) / (1.0f + e);
  x = x > none ? t : -t;
}

// x * Phi(x) with erf by Abramowitz and Stegun 7.1.26: off by at most 1.5e-7 * |x| / 2.
template <int N>
TRELLIS_LANES_INLINE void Gelu(typename Lanes<N>::F& x) {
  using F = typename Lanes<N>::F;
  const F none = {};
  F z = x * 0.70710678f;
  z = z > none ? z : -z;
  const F t = 1.0f / (z * 0.3275911f + 1.0f);
  F p = t * 1.061405429f + -1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t + -0.284496736f;
  p = p * t + 0.254829592f;
  F e = -(z * z);
  Lanes<N>::Exp(e);
  const F rest = p * t * e;  // 1 - erf|z|
  const F twice_phi = x > none ? 2.0f - rest : rest;
  x = x * 0.5f * twice_phi;
}

// Known when a loop is compiled, and so outside of it.
enum class After : uint8_t { kNothing, kGelu, kGeluTanh, kRelu };

template <int N, After kAfter>
TRELLIS_LANES_INLINE void Activate(typename Lanes<N>::F& v) {
  using F = typename Lanes<N>::F;
  if constexpr (kAfter == After::kGelu) {
    Gelu<N>(v);
  } else if constexpr (kAfter == After::kGeluTanh) {
    F t = 0.79788456f * (v + 0.044715f * v * v * v);
    Tanh<N>(t);
    v = 0.5f * v * (1.0f + t);
  } else if constexpr (kAfter == After::kRelu) {
    const F none = {};
    v = v < none ? none : v;  // what is not a number stays so
  }
}

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_ACTIVATIONS_H_
