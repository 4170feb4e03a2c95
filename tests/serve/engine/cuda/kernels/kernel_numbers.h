// Numbers for kernels, and what must hold of theirs: the formula's to within one rounding, in every schedule
// the same.
#ifndef TRELLIS_TESTS_SERVE_ENGINE_CUDA_KERNELS_KERNEL_NUMBERS_H_
#define TRELLIS_TESTS_SERVE_ENGINE_CUDA_KERNELS_KERNEL_NUMBERS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/emulation/grid.h"
#include "serve/engine/cuda/emulation/half_rounding.h"
#include "serve/engine/cuda/kernels/kernels.h"

namespace trellis::engine::cuda {

inline double ValueOf(HalfType type, Bits16 bits) {
  return double{type == HalfType::kBf16 ? emulation::FloatOfBf16(bits) : emulation::FloatOfF16(bits)};
}
inline Bits16 Rounded(HalfType type, double value) {
  const auto narrow = static_cast<float>(value);
  return type == HalfType::kBf16 ? emulation::Bf16OfFloat(narrow) : emulation::F16OfFloat(narrow);
}
// Of a value of size 1, what rounding to the nearest may be off by: half of the last of 8 or 11 bits.
inline double Rounding(HalfType type) { return type == HalfType::kBf16 ? 0x1p-8 : 0x1p-11; }
// What float sums of a few hundred numbers around 1 may be off by.
inline constexpr double kSumError = 3e-6;

// What nobody may read, or has not written yet: not a number.
inline constexpr Bits16 kPoison = 0xffff;
inline std::vector<Bits16> PoisonedHalves(size_t count) { return std::vector<Bits16>(count, kPoison); }
inline std::vector<float> PoisonedFloats(size_t count) { return std::vector<float>(count, NAN); }

class Numbers {
 public:
  explicit Numbers(uint32_t seed) : random_(seed) {}
  // Normally distributed.
  std::vector<Bits16> Halves(HalfType type, size_t count, double spread) {
    std::vector<Bits16> numbers(count);
    for (Bits16& number : numbers) number = Rounded(type, spread * normal_(random_));
    return numbers;
  }
  std::vector<float> Floats(size_t count, double spread) {
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(spread * normal_(random_));
    return numbers;
  }
  int Below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

// `run` makes its output anew; the same bits in each of five schedules, or the kernel's threads do not wait
// for each other.
template <typename Run>
auto InEverySchedule(const Run& run) {
  emulation::SetSchedule(0);
  const auto first = run();
  for (const unsigned schedule : {1u, 2u, 3u, 4u}) {
    emulation::SetSchedule(schedule);
    const auto again = run();
    EXPECT_EQ(first.size(), again.size());
    EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(first[0])), 0)
        << "in schedule " << schedule;
  }
  emulation::SetSchedule(0);
  return first;
}

// `bound` is for what comes before the last rounding.
inline void ExpectRounded(HalfType type, Bits16 actual, double expected, double bound,
                          const std::string& where) {
  // Below fp16's normal numbers the step no longer shrinks.
  const double step = type == HalfType::kBf16 ? 0 : 0x1p-25;
  EXPECT_NEAR(ValueOf(type, actual), expected, std::abs(expected) * Rounding(type) + bound + step) << where;
}

// Sequences of these lengths, end to end.
inline std::vector<int32_t> Starts(const std::vector<int>& lengths) {
  std::vector<int32_t> starts = {0};
  for (const int length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

// The tiles of such rows, and then `spare` that are left over.
inline std::vector<QueryTile> Tiles(const std::vector<int>& lengths, int spare) {
  std::vector<QueryTile> tiles;
  for (size_t row = 0; row < lengths.size(); ++row) {
    for (int first = 0; first < lengths[row]; first += kTileQueries) {
      tiles.push_back({static_cast<int32_t>(row), first});
    }
  }
  tiles.resize(tiles.size() + static_cast<size_t>(spare));
  return tiles;
}

inline std::string NameOfType(const testing::TestParamInfo<HalfType>& tested) {
  return tested.param == HalfType::kBf16 ? "bf16" : "f16";
}
inline auto BothTypes() { return testing::Values(HalfType::kBf16, HalfType::kF16); }

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_TESTS_SERVE_ENGINE_CUDA_KERNELS_KERNEL_NUMBERS_H_
