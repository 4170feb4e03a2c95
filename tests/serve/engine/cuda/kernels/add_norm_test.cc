// Against LayerNorm in double.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"
#include "tests/serve/engine/cuda/kernels/layer_norm_formula.h"

namespace trellis::engine::cuda {
namespace {

class CudaAddNorm : public testing::TestWithParam<HalfType> {};

TEST_P(CudaAddNorm, IsTheFormula) {
  const HalfType type = GetParam();
  // By vectors: less than one a lane, several, a part of the last; one by one: 1 to 4 a lane, and more. Token
  // counts fill a block's four warps, or do not.
  for (const auto& [tokens, hidden] : std::vector<std::pair<int, int>>{{1, 8},
                                                                       {5, 32},
                                                                       {4, 256},
                                                                       {3, 384},
                                                                       {2, 768},
                                                                       {2, 1024},
                                                                       {1, 1032},
                                                                       {1, 2048},
                                                                       {3, 1},
                                                                       {6, 20},
                                                                       {2, 100},
                                                                       {2, 129},
                                                                       {1, 1023}}) {
    Numbers numbers(static_cast<uint32_t>(hidden));
    const size_t count = static_cast<size_t>(tokens) * static_cast<size_t>(hidden);
    const auto states = numbers.Halves(type, count, 2), branch = numbers.Halves(type, count, 1);
    const auto gamma = numbers.Floats(static_cast<size_t>(hidden), 1),
               beta = numbers.Floats(static_cast<size_t>(hidden), 1);
    AddNormArgs args{type, tokens, hidden, branch.data(), gamma.data(), beta.data(), 1e-5f, nullptr};
    const auto out = InEverySchedule([&] {
      std::vector<Bits16> copy = states;
      copy.push_back(kPoison);
      args.states = copy.data();
      LaunchAddNorm(nullptr, args);
      return copy;
    });
    EXPECT_EQ(out.back(), kPoison) << "past the end";
    for (int token = 0; token < tokens; ++token) {
      const size_t begin = static_cast<size_t>(token) * static_cast<size_t>(hidden);
      std::vector<double> sum;
      for (size_t i = begin; i < begin + static_cast<size_t>(hidden); ++i) {
        sum.push_back(ValueOf(type, states[i]) + ValueOf(type, branch[i]));
      }
      ExpectLayerNorm(type, sum, gamma, beta, 1e-5, out.data() + begin, "token " + std::to_string(token));
    }
  }
}

// Tokens that fill a bucket up are computed like the others, and have no part in those.
TEST_P(CudaAddNorm, ATokenThatIsNotANumberStaysAlone) {
  const HalfType type = GetParam();
  constexpr int kTokens = 6, kHidden = 40;
  Numbers numbers(3);
  const auto gamma = numbers.Floats(kHidden, 1), beta = numbers.Floats(kHidden, 1);
  const auto branch = numbers.Halves(type, kTokens * kHidden, 1);
  const auto states = numbers.Halves(type, kTokens * kHidden, 1);
  AddNormArgs args{type, kTokens, kHidden, branch.data(), gamma.data(), beta.data(), 1e-12f, nullptr};
  auto clean = states, odd = states;
  odd[4 * kHidden + 7] = kPoison;
  args.states = clean.data();
  LaunchAddNorm(nullptr, args);
  args.states = odd.data();
  LaunchAddNorm(nullptr, args);
  for (size_t i = 0; i < odd.size(); ++i) {
    if (i / kHidden == 4) {
      EXPECT_TRUE(std::isnan(ValueOf(type, odd[i])));
    } else {
      EXPECT_EQ(odd[i], clean[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaAddNorm, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
