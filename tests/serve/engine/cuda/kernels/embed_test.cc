// Against the sum of three table rows and LayerNorm in double.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"
#include "tests/serve/engine/cuda/kernels/layer_norm_formula.h"

namespace trellis::engine::cuda {
namespace {

class CudaEmbed : public testing::TestWithParam<HalfType> {};

TEST_P(CudaEmbed, IsTheFormula) {
  const HalfType type = GetParam();
  constexpr int kWords = 11, kPositions = 7, kTypes = 3;
  for (const auto& [tokens, hidden] : std::vector<std::pair<int, int>>{
           {1, 8}, {5, 32}, {9, 36}, {4, 384}, {2, 1024}, {2, 1536}, {3, 45}, {1, 1001}}) {
    for (const bool typed : {true, false}) {
      Numbers numbers(static_cast<uint32_t>(hidden));
      const auto size = static_cast<size_t>(hidden);
      const auto words = numbers.Halves(type, kWords * size, 1),
                 positions = numbers.Halves(type, kPositions * size, 1),
                 types = numbers.Halves(type, kTypes * size, 1);
      const auto gamma = numbers.Floats(size, 1), beta = numbers.Floats(size, 1);
      std::vector<int32_t> ids, position_ids, type_ids;
      for (int t = 0; t < tokens; ++t) {
        ids.push_back(t == 0 ? kWords - 1 : numbers.Below(kWords));
        position_ids.push_back(t == 0 ? kPositions - 1 : numbers.Below(kPositions));
        type_ids.push_back(t == 0 ? kTypes - 1 : numbers.Below(kTypes));
      }
      EmbedArgs args{type,
                     tokens,
                     hidden,
                     ids.data(),
                     position_ids.data(),
                     typed ? type_ids.data() : nullptr,
                     words.data(),
                     positions.data(),
                     types.data(),
                     gamma.data(),
                     beta.data(),
                     1e-12f,
                     nullptr};
      const size_t count = static_cast<size_t>(tokens) * size;
      const auto out = InEverySchedule([&] {
        auto made = PoisonedHalves(count + 1);
        args.out = made.data();
        LaunchEmbed(nullptr, args);
        return made;
      });
      EXPECT_EQ(out[count], kPoison) << "past the end";
      for (size_t t = 0; t < static_cast<size_t>(tokens); ++t) {
        std::vector<double> sum;
        for (size_t i = 0; i < size; ++i) {
          sum.push_back(ValueOf(type, words[static_cast<size_t>(ids[t]) * size + i]) +
                        ValueOf(type, positions[static_cast<size_t>(position_ids[t]) * size + i]) +
                        ValueOf(type, types[(typed ? static_cast<size_t>(type_ids[t]) : 0) * size + i]));
        }
        ExpectLayerNorm(type, sum, gamma, beta, 1e-12, out.data() + t * size, "token " + std::to_string(t));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaEmbed, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
