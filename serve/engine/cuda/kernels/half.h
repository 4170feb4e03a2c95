// Numbers of 16 bits as floats, and back: to the nearest, ties to even; what is not a number stays so.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_HALF_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_HALF_H_

#include <type_traits>

#include "serve/engine/cuda/kernels/simt.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include "serve/engine/cuda/emulation/half_rounding.h"
#endif

namespace trellis::engine::cuda::kernels {

template <HalfType kType>
SIMT_DEVICE float Wide(Bits16 bits) {
#if defined(__CUDACC__)
  if constexpr (kType == HalfType::kBf16) {
    return __uint_as_float(uint32_t{bits} << 16);
  } else {
    return __half2float(__ushort_as_half(bits));
  }
#else
  return kType == HalfType::kBf16 ? emulation::FloatOfBf16(bits) : emulation::FloatOfF16(bits);
#endif
}

template <HalfType kType>
SIMT_DEVICE Bits16 Narrow(float value) {
#if defined(__CUDACC__)
  if constexpr (kType == HalfType::kBf16) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  } else {
    return __half_as_ushort(__float2half_rn(value));
  }
#else
  return kType == HalfType::kBf16 ? emulation::Bf16OfFloat(value) : emulation::F16OfFloat(value);
#endif
}

// The first in the low half, as it lies in memory.
template <HalfType kType>
SIMT_DEVICE uint32_t NarrowPair(float first, float second) {
#if defined(__CUDACC__)
  uint32_t pair;
  if constexpr (kType == HalfType::kBf16) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    memcpy(&pair, &both, sizeof pair);
  } else {
    const __half2 both = __floats2half2_rn(first, second);
    memcpy(&pair, &both, sizeof pair);
  }
  return pair;
#else
  return uint32_t{Narrow<kType>(first)} | uint32_t{Narrow<kType>(second)} << 16;
#endif
}

// How many neighbouring numbers a thread takes at a time: 8, by vectors of 16 bytes, where all rows begin at
// such a boundary; else one.
inline constexpr int kVectorWidth = 8;

template <HalfType kType, int kWidth>
SIMT_DEVICE void Load(const Bits16* from, float (&values)[kWidth], Site site = {}) {
  if constexpr (kWidth == 1) {
    values[0] = Wide<kType>(*from);
  } else {
    static_assert(kWidth == kVectorWidth);
    const auto words = LoadVector<Words4>(from, site);
    const uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      values[2 * i] = Wide<kType>(static_cast<Bits16>(pairs[i] & 0xffffu));
      values[2 * i + 1] = Wide<kType>(static_cast<Bits16>(pairs[i] >> 16));
    }
  }
}

template <HalfType kType, int kWidth>
SIMT_DEVICE void Store(const float (&values)[kWidth], Bits16* to, Site site = {}) {
  if constexpr (kWidth == 1) {
    *to = Narrow<kType>(values[0]);
  } else {
    static_assert(kWidth == kVectorWidth);
    const Words4 words{NarrowPair<kType>(values[0], values[1]), NarrowPair<kType>(values[2], values[3]),
                       NarrowPair<kType>(values[4], values[5]), NarrowPair<kType>(values[6], values[7])};
    StoreVector(to, words, site);
  }
}

// The same for floats.
template <int kWidth>
SIMT_DEVICE void LoadFloats(const float* from, float (&values)[kWidth], Site site = {}) {
  if constexpr (kWidth == 1) {
    values[0] = *from;
  } else {
    SIMT_UNROLL
    for (int i = 0; i < kWidth; i += 4) {
      const auto four = LoadVector<Floats4>(from + i, site);
      values[i] = four.x;
      values[i + 1] = four.y;
      values[i + 2] = four.z;
      values[i + 3] = four.w;
    }
  }
}
template <int kWidth>
SIMT_DEVICE void StoreFloats(const float (&values)[kWidth], float* to, Site site = {}) {
  if constexpr (kWidth == 1) {
    *to = values[0];
  } else {
    SIMT_UNROLL
    for (int i = 0; i < kWidth; i += 4) {
      StoreVector(to + i, Floats4{values[i], values[i + 1], values[i + 2], values[i + 3]}, site);
    }
  }
}

// Blocks of so many threads, each of which takes kVectorWidth of `count` numbers.
inline Grid GridOfVectors(size_t count, int threads) {
  const size_t of_block = static_cast<size_t>(threads) * kVectorWidth;
  return {static_cast<int>((count + of_block - 1) / of_block)};
}

// The type as a constant, for a generic lambda that starts a kernel of it.
template <typename Do>
void WithType(HalfType type, const Do& act) {
  if (type == HalfType::kBf16) {
    act(std::integral_constant<HalfType, HalfType::kBf16>{});
  } else {
    act(std::integral_constant<HalfType, HalfType::kF16>{});
  }
}

// Likewise the width for rows of `size` numbers.
template <typename Do>
void WithWidth(int size, const Do& act) {
  if (size % kVectorWidth == 0) {
    act(std::integral_constant<int, kVectorWidth>{});
  } else {
    act(std::integral_constant<int, 1>{});
  }
}

}  // namespace trellis::engine::cuda::kernels

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_HALF_H_
