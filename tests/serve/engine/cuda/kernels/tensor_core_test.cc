// The words of a warp's matrices against the PTX manual (PTX ISA 9.0, "Matrix Fragments for mma.m16n8k16 with
// floating point type" and "ldmatrix"), by way of whole matrices.
#include "serve/engine/cuda/kernels/tensor_core.h"

#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

class CudaTensorCore : public testing::TestWithParam<HalfType> {};

uint32_t Word(const std::vector<Bits16>& matrix, int first, int second) {
  return uint32_t{matrix[static_cast<size_t>(first)]} | uint32_t{matrix[static_cast<size_t>(second)]} << 16;
}

TEST_P(CudaTensorCore, MultipliesMatrices) {
  constexpr HalfType kBf16 = HalfType::kBf16, kF16 = HalfType::kF16;
  const HalfType type = GetParam();
  Numbers numbers(5);
  const auto a = numbers.Halves(type, 16 * 16, 1),
             b = numbers.Halves(type, 16 * 8, 1);  // rows of 16; rows of 8
  const auto before = numbers.Floats(16 * 8, 1);
  const auto out = InEverySchedule([&] {
    auto d = before;
    emulation::RunGrid("MultiplyAdd", 1, 1, 32, [&] {
      const int group = kernels::Lane() / 4, in_group = kernels::Lane() % 4;
      uint32_t left[4], right[2];
      // "row = groupID for a0, a1, a4, a5, groupID + 8 else; col = threadID_in_group * 2 + (i & 1) for i < 4,
      // + 8 else"
      for (int i = 0; i < 8; i += 2) {
        const int row = i % 4 < 2 ? group : group + 8, column = in_group * 2 + (i < 4 ? 0 : 8);
        left[i / 2] = Word(a, row * 16 + column, row * 16 + column + 1);
      }
      // "row = threadID_in_group * 2 + (i & 1) for i < 2, + 8 else; col = groupID"
      for (int i = 0; i < 4; i += 2) {
        const int row = in_group * 2 + (i < 2 ? 0 : 8);
        right[i / 2] = Word(b, row * 8 + group, (row + 1) * 8 + group);
      }
      // "row = groupID for i < 2, groupID + 8 else; col = threadID_in_group * 2 + (i & 1)"
      const auto at = [&](int i) {
        return static_cast<size_t>((i < 2 ? group : group + 8) * 8 + in_group * 2 + i % 2);
      };
      float sums[4];
      for (int i = 0; i < 4; ++i) sums[i] = d[at(i)];
      if (type == kBf16) {
        kernels::MultiplyAdd<kBf16>(sums, left, right[0], right[1]);
      } else {
        kernels::MultiplyAdd<kF16>(sums, left, right[0], right[1]);
      }
      for (int i = 0; i < 4; ++i) d[at(i)] = sums[i];
    });
    return d;
  });
  for (size_t row = 0; row < 16; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      double expected = double{before[row * 8 + column]};
      for (size_t k = 0; k < 16; ++k) {
        expected += ValueOf(type, a[row * 16 + k]) * ValueOf(type, b[k * 8 + column]);
      }
      EXPECT_NEAR(double{out[row * 8 + column]}, expected, kSumError) << row << ", " << column;
    }
  }
}

// "row = lane / 4, columns 2 * (lane % 4) and one more" of each matrix; with .trans, rows and columns change
// places.
template <bool kTransposed>
void LoadsMatrices() {
  emulation::RunGrid("LoadMatrices", 1, 1, 32, [] {
    SIMT_SHARED(Bits16, rows, 32 * 16);
    // Number 100 * matrix + 10 * row + column, with as much room between rows again.
    for (int column = 0; column < 8; ++column) {
      rows[kernels::Lane() * 16 + column] =
          static_cast<Bits16>(100 * (kernels::Lane() / 8) + 10 * (kernels::Lane() % 8) + column);
    }
    kernels::WarpBarrier();
    uint32_t words[4];
    kernels::LoadMatrices<kTransposed>(words, rows + kernels::Lane() * 16);
    for (int m = 0; m < 4; ++m) {
      for (int i = 0; i < 2; ++i) {
        const int major = kernels::Lane() / 4, minor = 2 * (kernels::Lane() % 4) + i;
        const int expected = 100 * m + (kTransposed ? 10 * minor + major : 10 * major + minor);
        EXPECT_EQ(static_cast<int>(words[m] >> (16 * i) & 0xffff), expected) << "matrix " << m;
      }
    }
  });
}
TEST(CudaTensorCore, LoadsMatrices) { LoadsMatrices<false>(); }
TEST(CudaTensorCore, LoadsTransposedMatrices) { LoadsMatrices<true>(); }

INSTANTIATE_TEST_SUITE_P(Types, CudaTensorCore, BothTypes(), NameOfType);

}  // namespace
}  // namespace trellis::engine::cuda
