// Vectors of N floats for our own kernels: one text, compiled once for each instruction set. The wrappers in
// the .cc files carry the target attribute; everything here is inlined into them. Vectors go by reference,
// since how they would be passed by value depends on the instruction set.
#ifndef TRELLIS_SERVE_ENGINE_CPU_LANES_H_
#define TRELLIS_SERVE_ENGINE_CPU_LANES_H_

#include <cstdint>
#include <cstring>
#include <utility>

#define TRELLIS_LANES_INLINE [[gnu::always_inline]] inline
#if defined(__x86_64__)
#define TRELLIS_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define TRELLIS_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#endif
// Accumulators in an array stay in registers only if the loop over them is gone.
#if defined(__clang__)
#define TRELLIS_UNROLL _Pragma("unroll")
#else
#define TRELLIS_UNROLL _Pragma("GCC unroll 16")
#endif

namespace trellis::engine::cpu {

// One by one: GCC drops the attribute when its size depends on a template's parameter.
template <int N>
struct Vectors;
#define TRELLIS_VECTORS(N)                                      \
  template <>                                                   \
  struct Vectors<N> {                                           \
    typedef float F __attribute__((vector_size(4 * (N))));      \
    typedef int32_t I __attribute__((vector_size(4 * (N))));    \
    typedef uint32_t U __attribute__((vector_size(4 * (N))));   \
    typedef uint16_t U16 __attribute__((vector_size(2 * (N)))); \
    typedef uint8_t U8 __attribute__((vector_size(N)));         \
  };
TRELLIS_VECTORS(4)
TRELLIS_VECTORS(8)
TRELLIS_VECTORS(16)
#undef TRELLIS_VECTORS

template <int N>
struct Lanes : Vectors<N> {
  using typename Vectors<N>::F;
  using typename Vectors<N>::U;

  TRELLIS_LANES_INLINE static void Load(const float* from, F& v) { std::memcpy(&v, from, sizeof v); }
  TRELLIS_LANES_INLINE static void Store(const F& v, float* to) { std::memcpy(to, &v, sizeof v); }
  TRELLIS_LANES_INLINE static void Fill(float value, F& v) { v = F{} + value; }

  // In halves: lane by lane would be one long chain.
  TRELLIS_LANES_INLINE static float Sum(const F& v) {
    F sum = v;
    AddTurned<N / 2>(sum);
    return sum[0];
  }
  TRELLIS_LANES_INLINE static float Max(const F& v) {
    F most = v;
    MaxTurned<N / 2>(most);
    return most[0];
  }

  // e^x for x <= 88; what would be below the smallest normal number is about that. Within 2 ulp.
  TRELLIS_LANES_INLINE static void Exp(F& x) {
    F least;
    Fill(-87.0f, least);
    x = x < least ? least : x;
    // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits.
    F magic;
    Fill(12582912.0f, magic);
    const F shifted = x * 1.44269504f + magic;
    const F whole = shifted - magic;
    F r = x - whole * 0.693359375f;
    r = r + whole * 2.12194440e-4f;
    // The rest of the series after 1 + r, fitted on [-ln 2 / 2, ln 2 / 2] (Cephes' expf).
    F p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + (r + 1.0f);
    U bits, exponent;
    std::memcpy(&bits, &p, sizeof bits);
    std::memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << 23;
    std::memcpy(&x, &bits, sizeof bits);
  }

 private:
  template <int kBy, int... I>
  TRELLIS_LANES_INLINE static void Turn(const F& v, F& turned, std::integer_sequence<int, I...>) {
    turned = __builtin_shufflevector(v, v, ((I + kBy) % N)...);
  }
  template <int kBy>
  TRELLIS_LANES_INLINE static void AddTurned(F& v) {
    F turned;
    Turn<kBy>(v, turned, std::make_integer_sequence<int, N>());
    v += turned;
    if constexpr (kBy > 1) AddTurned<kBy / 2>(v);
  }
  template <int kBy>
  TRELLIS_LANES_INLINE static void MaxTurned(F& v) {
    F turned;
    Turn<kBy>(v, turned, std::make_integer_sequence<int, N>());
    v = turned > v ? turned : v;
    if constexpr (kBy > 1) MaxTurned<kBy / 2>(v);
  }
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_LANES_H_
