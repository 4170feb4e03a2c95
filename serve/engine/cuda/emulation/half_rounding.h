// bf16 and fp16 as CUDA's conversions make them. Every value that is not a number becomes the same one, as
// there.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_EMULATION_HALF_ROUNDING_H_
#define TRELLIS_SERVE_ENGINE_CUDA_EMULATION_HALF_ROUNDING_H_

#include <bit>
#include <cstdint>

namespace trellis::engine::cuda::emulation {

inline float FloatOfBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline uint16_t Bf16OfFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float FloatOfF16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
  if (size < 0x0400u) {  // below the least normal number: a multiple of 2^-24
    const float small = static_cast<float>(size) * 0x1p-24f;
    return sign != 0 ? -small : small;
  }
  const uint32_t widened = size << 13;
  const uint32_t exponent = size < 0x7c00u ? (127u - 15u) << 23 : (255u - 31u) << 23;
  return std::bit_cast<float>(sign | (widened + exponent));
}

inline uint16_t F16OfFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7fff;
  if (size >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and more: infinite
  if (size < 0x38800000u) {  // below 2^-14: beside 0.5 a float counts in steps of 2^-24, and rounds to them
    const float beside = std::bit_cast<float>(size) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(beside) - 0x3f000000u));
  }
  const uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - ((127u - 15u) << 23)) >> 13));
}

}  // namespace trellis::engine::cuda::emulation

#endif  // TRELLIS_SERVE_ENGINE_CUDA_EMULATION_HALF_ROUNDING_H_
