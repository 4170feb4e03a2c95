// Against the product in double.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

struct Case {
  int rows, in, out;
};

// One row and one label; a block's 8 rows and 8 outputs, and one more; sizes that no warp divides.
TEST(CudaDense, IsTheFormula) {
  for (const Case& c : {Case{1, 32, 1}, {8, 33, 8}, {9, 100, 9}, {17, 7, 3}, {1, 384, 384}, {3, 31, 2}}) {
    for (const DenseArgs::After after : {DenseArgs::kIdentity, DenseArgs::kTanh}) {
      for (const bool biased : {true, false}) {
        Numbers numbers(static_cast<uint32_t>(c.in));
        const auto rows = static_cast<size_t>(c.rows), in = static_cast<size_t>(c.in),
                   size = static_cast<size_t>(c.out);
        const auto x = numbers.Floats(rows * in, 1), weight = numbers.Floats(size * in, 0.2),
                   bias = numbers.Floats(size, 1);
        const auto out = InEverySchedule([&] {
          auto made = PoisonedFloats(rows * size + 1);
          LaunchDense(nullptr, {after, c.rows, c.in, c.out, x.data(), weight.data(),
                                biased ? bias.data() : nullptr, made.data()});
          return made;
        });
        EXPECT_TRUE(std::isnan(out.back())) << "past the end";
        for (size_t r = 0; r < rows; ++r) {
          for (size_t o = 0; o < size; ++o) {
            double expected = biased ? double{bias[o]} : 0;
            for (size_t i = 0; i < in; ++i) expected += double{x[r * in + i]} * double{weight[o * in + i]};
            if (after == DenseArgs::kTanh) expected = std::tanh(expected);
            ASSERT_NEAR(double{out[r * size + o]}, expected, kSumError) << r << ", " << o << " of " << c.out;
          }
        }
      }
    }
  }
}

TEST(CudaDense, WhatIsNotANumberStaysInItsRow) {
  auto x = Numbers(1).Floats(10 * 40, 1);
  const auto weight = Numbers(2).Floats(40, 1);
  x[8 * 40 + 39] = NAN;
  auto out = PoisonedFloats(10);
  LaunchDense(nullptr, {DenseArgs::kTanh, 10, 40, 1, x.data(), weight.data(), nullptr, out.data()});
  for (size_t r = 0; r < out.size(); ++r) EXPECT_EQ(std::isnan(out[r]), r == 8) << r;
}

}  // namespace
}  // namespace trellis::engine::cuda
