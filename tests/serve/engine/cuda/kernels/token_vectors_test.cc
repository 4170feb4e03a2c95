// Against each state, cut and scaled in double.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

class CudaTokenVectors : public testing::TestWithParam<HalfType> {};

TEST_P(CudaTokenVectors, IsTheFormula) {
  const HalfType type = GetParam();
  for (const int size : {8, 36, 45, 264}) {
    const std::vector<int> lengths = {3, 65, 0, 5, 64, 1};
    const std::vector<RowWork> work = {
        {RowWork::kNothing, 1, 1, 0}, {RowWork::kNothing, 1, 1, size / 2 + 1}, {RowWork::kNothing, 1, 1, 0},
        {RowWork::kMean, 0, 1, 0},    {RowWork::kNothing, 1, 0, size / 2},     {RowWork::kNothing, 1, 0, 0}};
    const auto starts = Starts(lengths);
    const auto tiles = Tiles(lengths, 2);
    const auto width = static_cast<size_t>(size), tokens = static_cast<size_t>(starts.back());
    auto states = Numbers(static_cast<uint32_t>(size)).Halves(type, tokens * width, 1);
    std::fill_n(states.begin(), size, Rounded(type, 0));  // the first has no length
    states.resize((tokens + 2) * width, kPoison);
    const auto out = InEverySchedule([&] {
      auto made = PoisonedFloats(states.size());
      LaunchTokenVectors(nullptr, {type, size, static_cast<int>(tiles.size()), tiles.data(), starts.data(),
                                   work.data(), states.data(), made.data()});
      return made;
    });
    for (size_t row = 0; row < work.size(); ++row) {
      const size_t kept = work[row].dimensions > 0 ? static_cast<size_t>(work[row].dimensions) : width;
      for (auto t = static_cast<size_t>(starts[row]); t < static_cast<size_t>(starts[row + 1]); ++t) {
        double squares = 0;
        for (size_t i = 0; i < kept; ++i) squares += std::pow(ValueOf(type, states[t * width + i]), 2);
        const double length = work[row].scale_to_one != 0 && squares > 0 ? std::sqrt(squares) : 1;
        for (size_t i = 0; i < width; ++i) {
          const double value = double{out[t * width + i]};
          if (work[row].every_token == 0) {
            ASSERT_TRUE(std::isnan(value)) << "row " << row << " did not ask";
            continue;
          }
          const double expected = i < kept ? ValueOf(type, states[t * width + i]) / length : 0;
          ASSERT_NEAR(value, expected, std::abs(expected) * 3e-7)
              << "row " << row << ", token " << t << ", " << i;
        }
      }
    }
    for (size_t i = tokens * width; i < out.size(); ++i)
      ASSERT_TRUE(std::isnan(out[i])) << "a token of no row";
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaTokenVectors, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
