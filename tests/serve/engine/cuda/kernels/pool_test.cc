// Against the mean, the first and the last of a row's states.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

class CudaPool : public testing::TestWithParam<HalfType> {};

TEST_P(CudaPool, IsTheFormula) {
  const HalfType type = GetParam();
  // Fewer tokens than warps, as many, one more; empty rows; one long row.
  const std::vector<int> lengths = {3, 0, 16, 1, 17, 200, 1, 5, 0};
  const std::vector<RowWork::Pool> pools = {RowWork::kMean, RowWork::kMean,    RowWork::kMean,
                                            RowWork::kCls,  RowWork::kLast,    RowWork::kMean,
                                            RowWork::kLast, RowWork::kNothing, RowWork::kLast};
  const auto starts = Starts(lengths);
  std::vector<RowWork> work(lengths.size());
  for (size_t row = 0; row < work.size(); ++row) work[row].pool = pools[row];
  const int rows = static_cast<int>(lengths.size());
  for (const int hidden : {8, 36, 45, 256, 264}) {
    const auto size = static_cast<size_t>(hidden), tokens = static_cast<size_t>(starts.back());
    auto states = Numbers(static_cast<uint32_t>(hidden)).Halves(type, tokens * size, 1);
    states.resize((tokens + 2) * size, kPoison);  // tokens of no row
    const auto out = InEverySchedule([&] {
      auto made = PoisonedFloats(work.size() * size + 1);
      LaunchPool(nullptr, {type, rows, hidden, starts.data(), work.data(), states.data(), made.data()});
      return made;
    });
    EXPECT_TRUE(std::isnan(out.back())) << "past the end";
    for (size_t row = 0; row < work.size(); ++row) {
      const auto begin = static_cast<size_t>(starts[row]), end = static_cast<size_t>(starts[row + 1]);
      for (size_t i = 0; i < size; ++i) {
        double expected = 0;
        if (end > begin && pools[row] == RowWork::kMean) {
          for (size_t t = begin; t < end; ++t) {
            expected += ValueOf(type, states[t * size + i]) / static_cast<double>(end - begin);
          }
        } else if (end > begin && pools[row] != RowWork::kNothing) {
          expected = ValueOf(type, states[(pools[row] == RowWork::kCls ? begin : end - 1) * size + i]);
        }
        ASSERT_NEAR(double{out[row * size + i]}, expected, kSumError)
            << "row " << row << ", column " << i << " of " << size;
      }
    }
  }
}

TEST_P(CudaPool, WhatIsNotANumberStaysInItsRow) {
  const std::vector<int32_t> starts = {0, 20, 22};
  const std::vector<RowWork> work(2, RowWork{RowWork::kMean, 0, 0, 0});
  auto states = Numbers(1).Halves(GetParam(), 22 * 8, 1);
  states[19 * 8 + 2] = kPoison;
  auto out = PoisonedFloats(16);
  LaunchPool(nullptr, {GetParam(), 2, 8, starts.data(), work.data(), states.data(), out.data()});
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i == 2) << i;
}

INSTANTIATE_TEST_SUITE_P(Types, CudaPool, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
