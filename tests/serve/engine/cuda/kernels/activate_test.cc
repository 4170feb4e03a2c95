// Against the C library's erf and tanh in double.
#include <functional>
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

double Formula(Curve curve, double x) {
  switch (curve) {
    case Curve::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Curve::kGeluTanh:  // Hendrycks and Gimpel, arXiv:1606.08415
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Curve::kRelu:
      return x > 0 ? x : 0;
  }
  return NAN;
}

class CudaActivate : public testing::TestWithParam<HalfType> {};

// Counts below, at and past a thread's eight and a block's 2,048.
TEST_P(CudaActivate, IsTheFormula) {
  const HalfType type = GetParam();
  for (const Curve curve : {Curve::kGelu, Curve::kGeluTanh, Curve::kRelu}) {
    for (const size_t count : {1, 7, 8, 9, 2047, 2048, 2049}) {
      Numbers numbers(static_cast<uint32_t>(count));
      auto values = numbers.Halves(type, count, 3);
      values[0] = Rounded(type, 0);
      values[count / 2] = Rounded(type, -9);
      values[count - 1] = Rounded(type, 12);
      const auto out = InEverySchedule([&] {
        auto copy = values;
        copy.push_back(kPoison);
        LaunchActivate(nullptr, {type, curve, count, copy.data()});
        return copy;
      });
      EXPECT_EQ(out[count], kPoison) << "past the end";
      for (size_t i = 0; i < count; ++i) {
        const double x = ValueOf(type, values[i]);
        // 1 + erf of floats near -1 keeps what floats keep near 1: 6e-8 of it.
        ExpectRounded(type, out[i], Formula(curve, x), 3e-7 * (1 + std::abs(x)), "at " + std::to_string(x));
      }
    }
  }
}

// The forms by erf and by tanh are up to 4.7e-4 apart: more than fp16 rounds, so that the one cannot be taken
// for the other.
TEST(CudaActivate, TheTwoGelusAreNotTheSame) {
  std::vector<Bits16> by_erf = {Rounded(HalfType::kF16, -2.25)}, by_tanh = by_erf;
  LaunchActivate(nullptr, {HalfType::kF16, Curve::kGelu, 1, by_erf.data()});
  LaunchActivate(nullptr, {HalfType::kF16, Curve::kGeluTanh, 1, by_tanh.data()});
  EXPECT_NE(by_erf, by_tanh);
}

TEST_P(CudaActivate, WhatIsNotANumberStaysSo) {
  for (const Curve curve : {Curve::kGelu, Curve::kGeluTanh, Curve::kRelu}) {
    std::vector<Bits16> values(9, Rounded(GetParam(), 1));
    values[3] = values[8] = kPoison;
    LaunchActivate(nullptr, {GetParam(), curve, values.size(), values.data()});
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(std::isnan(ValueOf(GetParam(), values[i])), i == 3 || i == 8) << i;
    }
  }
}

TEST(CudaActivate, NothingIsNoLaunch) {
  LaunchActivate(nullptr, {HalfType::kBf16, Curve::kGelu, 0, nullptr});
}

INSTANTIATE_TEST_SUITE_P(Types, CudaActivate, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
