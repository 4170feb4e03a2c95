#include "serve/engine/tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

namespace trellis::engine {
namespace {

constexpr std::string_view kDtypeNames[] = {"F32", "F16", "BF16"};  // by Dtype

float FromHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = half >> 10 & 31u;
  const uint32_t mantissa = half & 0x3FFu;
  if (exponent == 0) {  // zero and subnormal
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t wide = exponent == 31 ? 255u : exponent + (127u - 15u);
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

float FromBrain(uint16_t brain) { return std::bit_cast<float>(uint32_t{brain} << 16); }

// The bytes may lie unaligned.
template <typename Convert>
void Widen(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  const std::byte* from = bytes.data();
  for (float& value : out) {
    uint16_t narrow = 0;
    std::memcpy(&narrow, from, sizeof(narrow));
    from += sizeof(narrow);
    value = convert(narrow);
  }
}

// Whether a value in [from, end) has all bits of `exponent` set. No branch inside, so that vector
// instructions can do it.
template <typename Bits>
[[gnu::always_inline]] inline bool AnyWith(Bits exponent, const std::byte* bytes, size_t from, size_t end) {
  Bits found = 0;
  for (size_t i = from; i < end; ++i) {
    Bits value;
    std::memcpy(&value, bytes + i * sizeof(Bits), sizeof(Bits));
    found = static_cast<Bits>(found | ((value & exponent) == exponent ? 1 : 0));
  }
  return found != 0;
}

// A model's whole file goes through this before the first answer.
#if defined(__x86_64__)
template <typename Bits>
__attribute__((target("avx2"))) bool AnyWithAvx2(Bits exponent, const std::byte* bytes, size_t from,
                                                 size_t end) {
  return AnyWith(exponent, bytes, from, end);
}
template <typename Bits>
bool AnyOf(Bits exponent, const std::byte* bytes, size_t from, size_t end) {
  if (__builtin_cpu_supports("avx2")) return AnyWithAvx2(exponent, bytes, from, end);
  return AnyWith(exponent, bytes, from, end);
}
#else
template <typename Bits>
bool AnyOf(Bits exponent, const std::byte* bytes, size_t from, size_t end) {
  return AnyWith(exponent, bytes, from, end);
}
#endif

// Of the first value with all bits of `exponent` set; -1: there is none.
template <typename Bits>
int64_t FirstWith(Bits exponent, std::span<const std::byte> bytes) {
  constexpr size_t kBlock = 8192 / sizeof(Bits);
  const size_t count = bytes.size() / sizeof(Bits);
  for (size_t from = 0; from < count; from += kBlock) {
    const size_t end = std::min(from + kBlock, count);
    // The next block, which the processor does not fetch by itself across pages.
    const size_t next_end = std::min(end + kBlock, count) * sizeof(Bits);
    for (size_t i = end * sizeof(Bits); i < next_end; i += 64) __builtin_prefetch(bytes.data() + i);
    if (!AnyOf(exponent, bytes.data(), from, end)) continue;
    for (size_t i = from; i < end; ++i) {
      if (AnyWith(exponent, bytes.data(), i, i + 1)) return static_cast<int64_t>(i);
    }
  }
  return -1;
}

}  // namespace

size_t BytesOf(Dtype dtype) { return dtype == Dtype::kF32 ? 4 : 2; }
std::string_view NameOf(Dtype dtype) { return kDtypeNames[static_cast<size_t>(dtype)]; }

int64_t Tensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void Tensor::CopyTo(std::span<float> out) const {
  switch (dtype) {
    case Dtype::kF32:
      if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      break;
    case Dtype::kF16:
      Widen(bytes, out, FromHalf);
      break;
    case Dtype::kBf16:
      Widen(bytes, out, FromBrain);
      break;
  }
}

int64_t Tensor::FirstNotFinite() const {
  switch (dtype) {
    case Dtype::kF32:
      return FirstWith<uint32_t>(0x7F800000, bytes);
    case Dtype::kF16:
      return FirstWith<uint16_t>(0x7C00, bytes);
    case Dtype::kBf16:
      return FirstWith<uint16_t>(0x7F80, bytes);
  }
  return -1;
}

}  // namespace trellis::engine
