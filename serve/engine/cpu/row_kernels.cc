#include "serve/engine/cpu/row_kernels.h"

#include <algorithm>
#include <cmath>

#include "serve/engine/cpu/activations.h"
#include "serve/engine/cpu/lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trellis::engine::cpu {
namespace {

// A row's last values, when they do not fill a vector, go through one that is filled up.
template <int N>
TRELLIS_LANES_INLINE void LoadPart(const float* from, int count, typename Lanes<N>::F& v) {
  if (count == N) {
    Lanes<N>::Load(from, v);
  } else {
    v = typename Lanes<N>::F{};
    std::memcpy(&v, from, sizeof(float) * static_cast<size_t>(count));
  }
}
template <int N>
TRELLIS_LANES_INLINE void StorePart(const typename Lanes<N>::F& v, int count, float* to) {
  if (count == N) {
    Lanes<N>::Store(v, to);
  } else {
    std::memcpy(to, &v, sizeof(float) * static_cast<size_t>(count));
  }
}

template <int N>
TRELLIS_LANES_INLINE void LayerNorm(float* x, const float* added, const float* gamma, const float* beta,
                                    float eps, int size) {
  using L = Lanes<N>;
  using F = typename L::F;
  // Two of each: one chain would wait for itself.
  constexpr int kChains = 2;
  const int whole = size / (kChains * N) * (kChains * N);
  F sums[kChains] = {};
  int i = 0;
  for (; i < whole; i += kChains * N) {
    TRELLIS_UNROLL
    for (int chain = 0; chain < kChains; ++chain) {
      F v, a;
      L::Load(x + i + chain * N, v);
      if (added != nullptr) {
        L::Load(added + i + chain * N, a);
        v += a;
        L::Store(v, x + i + chain * N);
      }
      sums[chain] += v;
    }
  }
  float sum = L::Sum(sums[0] + sums[1]);
  for (; i < size; ++i) {
    if (added != nullptr) x[i] += added[i];
    sum += x[i];
  }
  const float mean = sum / static_cast<float>(size);
  F squares[kChains] = {};
  for (i = 0; i < whole; i += kChains * N) {
    TRELLIS_UNROLL
    for (int chain = 0; chain < kChains; ++chain) {
      F v;
      L::Load(x + i + chain * N, v);
      v -= mean;
      squares[chain] += v * v;
    }
  }
  float square_sum = L::Sum(squares[0] + squares[1]);
  for (; i < size; ++i) square_sum += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0f / std::sqrt(square_sum / static_cast<float>(size) + eps);
  for (i = 0; i + N <= size; i += N) {
    F v, g, b;
    L::Load(x + i, v);
    L::Load(gamma + i, g);
    L::Load(beta + i, b);
    v = (v - mean) * scale * g + b;
    L::Store(v, x + i);
  }
  for (; i < size; ++i) x[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}

template <int N>
TRELLIS_LANES_INLINE void ToBf16(const float* x, int size, uint16_t* out) {
  using L = Lanes<N>;
  for (int i = 0; i < size; i += N) {
    const int count = std::min(N, size - i);
    typename L::F v;
    LoadPart<N>(x + i, count, v);
    typename L::U bits;
    std::memcpy(&bits, &v, sizeof bits);
    bits += 0x7fffu + ((bits >> 16) & 1u);
    // Not a number stays so, rather than being rounded to infinity or zero.
    typename L::I odd = v != v;
    typename L::U quiet = typename L::U{} + 0x7fc00000u;
    bits = odd ? quiet : bits;
    const typename L::U16 halves = __builtin_convertvector(bits >> 16, typename L::U16);
    std::memcpy(out + i, &halves, sizeof(uint16_t) * static_cast<size_t>(count));
  }
}

template <int N>
TRELLIS_LANES_INLINE void Look(const typename Lanes<N>::F& v, typename Lanes<N>::F& least,
                               typename Lanes<N>::F& most, typename Lanes<N>::F& odd) {
  least = v < least ? v : least;
  most = v > most ? v : most;
  odd += v * 0.0f;  // not a number, if any value is not finite
}

template <int N>
TRELLIS_LANES_INLINE void ToBytes(const float* x, int size, uint8_t* out, ByteRow& row) {
  using L = Lanes<N>;
  // Several of each: one chain would wait for itself.
  constexpr int kChains = 4;
  typename L::F least[kChains] = {}, most[kChains] = {}, odd[kChains] = {};
  int i = 0;
  for (; i + kChains * N <= size; i += kChains * N) {
    TRELLIS_UNROLL
    for (int chain = 0; chain < kChains; ++chain) {
      typename L::F v;
      L::Load(x + i + chain * N, v);
      Look<N>(v, least[chain], most[chain], odd[chain]);
    }
  }
  for (; i < size; i += N) {
    typename L::F v;
    LoadPart<N>(x + i, std::min(N, size - i), v);
    Look<N>(v, least[0], most[0], odd[0]);
  }
  TRELLIS_UNROLL
  for (int chain = 1; chain < kChains; ++chain) {
    least[0] = least[chain] < least[0] ? least[chain] : least[0];
    most[0] = most[chain] > most[0] ? most[chain] : most[0];
    odd[0] += odd[chain];
  }
  const float low = -L::Max(-least[0]);
  const float range = L::Max(most[0]) - low;
  row.zero = 0;
  if (const float sum = L::Sum(odd[0]); sum != 0) {
    row.scale = sum;  // bytes cannot say so, the scale can
    std::memset(out, 0, static_cast<size_t>(size));
    return;
  }
  row.scale = range > 1e-30f ? range / 255.0f : 1.0f;  // one divided by it is a number
  const float inverse = 1.0f / row.scale;
  // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits.
  constexpr float kMagic = 12582912.0f;
  const float zero = (-low * inverse + kMagic) - kMagic;
  row.zero = static_cast<int32_t>(zero);
  typename L::F bottom, top, offset;
  L::Fill(kMagic, bottom);
  L::Fill(kMagic + 255.0f, top);
  L::Fill(kMagic + zero, offset);
  for (i = 0; i < size; i += N) {
    const int count = std::min(N, size - i);
    typename L::F v;
    LoadPart<N>(x + i, count, v);
    v = v * inverse + offset;
    v = v > bottom ? v : bottom;
    v = v < top ? v : top;
    typename L::U bits;
    std::memcpy(&bits, &v, sizeof bits);
    // GCC 12 has one instruction for it only where it sees that nothing is cut off.
    const typename L::U8 bytes = __builtin_convertvector(bits & 0xffu, typename L::U8);
    if (count == N) {
      std::memcpy(out + i, &bytes, N);
    } else {
      std::memcpy(out + i, &bytes, static_cast<size_t>(count));
    }
  }
}

template <int N, After kAfter>
TRELLIS_LANES_INLINE void FromBytes(const int32_t* products, ByteRow row, const ByteColumns& columns,
                                    int size, float* out) {
  using L = Lanes<N>;
  for (int i = 0; i < size; i += N) {
    const int count = std::min(N, size - i);
    typename L::I p = {}, s = {};
    std::memcpy(&p, products + i, count == N ? sizeof p : sizeof(int32_t) * static_cast<size_t>(count));
    std::memcpy(&s, columns.sums + i, count == N ? sizeof s : sizeof(int32_t) * static_cast<size_t>(count));
    p -= s * row.zero;
    typename L::F scales, bias;
    LoadPart<N>(columns.scales + i, count, scales);
    LoadPart<N>(columns.bias + i, count, bias);
    typename L::F v = __builtin_convertvector(p, typename L::F) * (scales * row.scale) + bias;
    Activate<N, kAfter>(v);
    StorePart<N>(v, count, out + i);
  }
}

template <int N>
TRELLIS_LANES_INLINE void FromBytes(const int32_t* products, ByteRow row, const ByteColumns& columns,
                                    std::optional<Activation> activation, int size, float* out) {
  if (!activation.has_value()) {
    FromBytes<N, After::kNothing>(products, row, columns, size, out);
  } else if (*activation == Activation::kGelu) {
    FromBytes<N, After::kGelu>(products, row, columns, size, out);
  } else if (*activation == Activation::kGeluTanh) {
    FromBytes<N, After::kGeluTanh>(products, row, columns, size, out);
  } else {
    FromBytes<N, After::kRelu>(products, row, columns, size, out);
  }
}

// One set of functions for each instruction set: N floats wide, with its target attribute.
#define TRELLIS_ROW_KERNELS(NAME, N, TARGET)                                                             \
  struct NAME {                                                                                          \
    TARGET static void LayerNorm(float* x, const float* added, const float* gamma, const float* beta,    \
                                 float eps, int size) {                                                  \
      cpu::LayerNorm<N>(x, added, gamma, beta, eps, size);                                               \
    }                                                                                                    \
    TARGET static void ToBf16(const float* x, int size, uint16_t* out) { cpu::ToBf16<N>(x, size, out); } \
    TARGET static ByteRow ToBytes(const float* x, int size, uint8_t* out) {                              \
      ByteRow row;                                                                                       \
      cpu::ToBytes<N>(x, size, out, row);                                                                \
      return row;                                                                                        \
    }                                                                                                    \
    TARGET static void FromBytes(const int32_t* products, ByteRow row, const ByteColumns& columns,       \
                                 std::optional<Activation> activation, int size, float* out) {           \
      cpu::FromBytes<N>(products, row, columns, activation, size, out);                                  \
    }                                                                                                    \
    static constexpr RowKernels kKernels = {LayerNorm, ToBf16, ToBytes, FromBytes};                      \
  };
TRELLIS_ROW_KERNELS(PortableRows, 4, )
#if defined(__x86_64__)
TRELLIS_ROW_KERNELS(Avx2Rows, 8, TRELLIS_TARGET_AVX2)
TRELLIS_ROW_KERNELS(Avx512Rows, 16, TRELLIS_TARGET_AVX512)

// By the instruction for it. It takes numbers below the smallest normal one for 0.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void RoundToBf16(const float* x, int size,
                                                                                 uint16_t* out) {
  int i = 0;
  for (; i + 32 <= size; i += 32) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i));
    std::memcpy(out + i, &both, sizeof both);
  }
  if (i < size) Avx512Rows::ToBf16(x + i, size - i, out + i);
}

bool Rounds() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
}

constexpr RowKernels kRoundingAvx512 = {Avx512Rows::LayerNorm, RoundToBf16, Avx512Rows::ToBytes,
                                        Avx512Rows::FromBytes};
#endif

}  // namespace

const RowKernels& RowKernelsOf(Isa isa) {
#if defined(__x86_64__)
  static const bool rounds = Rounds();
  if (isa == Isa::kAvx512) return rounds ? kRoundingAvx512 : Avx512Rows::kKernels;
  if (isa == Isa::kAvx2) return Avx2Rows::kKernels;
#endif
  (void)isa;
  return PortableRows::kKernels;
}

}  // namespace trellis::engine::cpu
