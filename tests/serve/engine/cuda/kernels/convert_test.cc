// emulation/half_rounding_test.cc has what is right for each number; here, that all are converted and none
// else.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

class CudaConvert : public testing::TestWithParam<HalfType> {};

TEST_P(CudaConvert, NarrowsAndWidens) {
  const HalfType type = GetParam();
  for (const size_t count : {1, 7, 8, 9, 2047, 2048, 2057}) {
    const auto floats = Numbers(static_cast<uint32_t>(count)).Floats(count, 100);
    const auto narrow = InEverySchedule([&] {
      auto to = PoisonedHalves(count + 1);
      LaunchNarrow(nullptr, {type, count, floats.data(), to.data()});
      return to;
    });
    const auto wide = InEverySchedule([&] {
      auto to = PoisonedFloats(count + 1);
      LaunchWiden(nullptr, {type, count, narrow.data(), to.data()});
      return to;
    });
    EXPECT_EQ(narrow[count], kPoison) << "past the end";
    EXPECT_TRUE(std::isnan(wide[count])) << "past the end";
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(narrow[i], Rounded(type, double{floats[i]}));
      EXPECT_EQ(double{wide[i]}, ValueOf(type, narrow[i]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaConvert, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
