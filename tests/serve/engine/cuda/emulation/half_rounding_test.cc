// Against the formats' definitions (IEEE 754 binary16, and bf16 as the upper half of binary32), in double.
#include "serve/engine/cuda/emulation/half_rounding.h"

#include <cmath>

#include "gtest/gtest.h"

namespace trellis::engine::cuda::emulation {
namespace {

struct Format {
  int exponent_bits, fraction_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);

  bool Finite(uint16_t bits) const { return (bits & 0x7fff) >> fraction_bits != (1 << exponent_bits) - 1; }
  double Value(uint16_t bits) const {
    const int bias = (1 << (exponent_bits - 1)) - 1, exponent = (bits & 0x7fff) >> fraction_bits;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const double size = exponent == 0
                            ? std::ldexp(fraction, 1 - bias - fraction_bits)
                            : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return bits >> 15 != 0 ? -size : size;
  }
};
constexpr Format kFormats[] = {{8, 7, FloatOfBf16, Bf16OfFloat}, {5, 10, FloatOfF16, F16OfFloat}};

TEST(CudaHalfRounding, EveryNumberIsItself) {
  for (const Format& format : kFormats) {
    for (uint32_t i = 0; i < 0x10000; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      if (!format.Finite(bits)) continue;
      ASSERT_EQ(double{format.widen(bits)}, format.Value(bits)) << i;
      ASSERT_EQ(format.narrow(format.widen(bits)), bits);
    }
  }
}

TEST(CudaHalfRounding, BetweenTwoNumbersToTheNearestAndFromTheMiddleToTheEvenOne) {
  for (const Format& format : kFormats) {
    const auto infinity = static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << format.fraction_bits);
    for (uint16_t bits = 0; bits + 1 < infinity; ++bits) {
      const auto next = static_cast<uint16_t>(bits + 1);
      const auto middle =
          static_cast<float>((format.Value(bits) + format.Value(next)) / 2);  // exact: one bit more
      const uint16_t even = bits % 2 == 0 ? bits : next;
      ASSERT_EQ(format.narrow(middle), even) << bits;
      ASSERT_EQ(format.narrow(-middle), even | 0x8000);
      ASSERT_EQ(format.narrow(std::nextafter(middle, 0.0f)), bits);
      ASSERT_EQ(format.narrow(std::nextafter(middle, INFINITY)), next);
    }
    // Past the largest number, half a step more is infinite.
    const auto largest = static_cast<uint16_t>(infinity - 1);
    const auto step =
        static_cast<float>(format.Value(largest) - format.Value(static_cast<uint16_t>(largest - 1)));
    const float edge = format.widen(largest) + step / 2;
    EXPECT_EQ(format.narrow(edge), infinity);
    EXPECT_EQ(format.narrow(std::nextafter(edge, 0.0f)), largest);
    EXPECT_EQ(format.narrow(INFINITY), infinity);
    EXPECT_EQ(format.narrow(-INFINITY), infinity | 0x8000);
    EXPECT_EQ(double{format.widen(infinity)}, INFINITY);
  }
}

TEST(CudaHalfRounding, WhatIsNotANumberStaysSo) {
  for (const Format& format : kFormats) {
    EXPECT_EQ(format.narrow(NAN), 0x7fff);  // as cuda_bf16.h and cuda_fp16.h do it
    EXPECT_TRUE(std::isnan(format.widen(0x7fff)));
    EXPECT_TRUE(std::isnan(format.widen(0xffff)));
  }
}

}  // namespace
}  // namespace trellis::engine::cuda::emulation
