// Against the product in double.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

class CudaTokenWeights : public testing::TestWithParam<HalfType> {};

TEST_P(CudaTokenWeights, IsTheFormula) {
  const HalfType type = GetParam();
  for (const auto& [tokens, hidden] :
       std::vector<std::pair<int, int>>{{1, 8}, {4, 32}, {5, 36}, {9, 264}, {3, 1001}}) {
    Numbers numbers(static_cast<uint32_t>(hidden));
    const auto count = static_cast<size_t>(tokens), size = static_cast<size_t>(hidden);
    auto states = numbers.Halves(type, count * size, 1);
    states[(count - 1) * size + size / 2] = kPoison;  // as of a token of no row: its own weight only
    const auto weight = numbers.Floats(size, 0.1), bias = numbers.Floats(1, 1);
    const auto out = InEverySchedule([&] {
      auto made = PoisonedFloats(count + 1);
      LaunchTokenWeights(nullptr,
                         {type, tokens, hidden, states.data(), weight.data(), bias.data(), made.data()});
      return made;
    });
    EXPECT_TRUE(std::isnan(out[count])) << "past the end";
    EXPECT_TRUE(std::isnan(out[count - 1]));
    for (size_t t = 0; t + 1 < count; ++t) {
      double expected = double{bias[0]};
      for (size_t i = 0; i < size; ++i) expected += ValueOf(type, states[t * size + i]) * double{weight[i]};
      EXPECT_NEAR(double{out[t]}, expected, kSumError) << "token " << t << " of " << hidden;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaTokenWeights, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
