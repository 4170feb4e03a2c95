// Against what engine.h says of `normalize` and `dimensions`.
#include <vector>

#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

// In double: to length 1, unless it has none.
void ScaleToOne(std::vector<double>& vector) {
  double squares = 0;
  for (const double value : vector) squares += value * value;
  if (squares == 0) return;
  for (double& value : vector) value /= std::sqrt(squares);
}

std::vector<double> Finished(std::vector<double> vector, bool model_scales, const RowWork& work) {
  const size_t size = vector.size();
  if (model_scales) ScaleToOne(vector);
  if (work.dimensions > 0) vector.resize(static_cast<size_t>(work.dimensions));
  if (work.scale_to_one != 0) ScaleToOne(vector);
  vector.resize(size);
  return vector;
}

TEST(CudaFinishRows, IsTheFormula) {
  for (const int size : {1, 8, 31, 32, 33, 100, 384}) {
    for (const bool model_scales : {false, true}) {
      std::vector<RowWork> work;
      for (const uint8_t scales : {0, 1}) {
        for (const int dimensions : {0, 1, (size + 1) / 2, size})
          work.push_back({RowWork::kMean, 0, scales, dimensions});
      }
      work.push_back(work[4]);  // nine rows: a block has four
      const size_t rows = work.size();
      work.resize(12, RowWork{RowWork::kMean, 0, 1, 1});  // the last block's other rows, which are not asked for
      const auto width = static_cast<size_t>(size);
      auto vectors = Numbers(static_cast<uint32_t>(size)).Floats(rows * width, 2);
      std::fill_n(vectors.end() - size, size, 0.0f);  // the last has no length
      const auto out = InEverySchedule([&] {
        auto copy = vectors;
        copy.resize(work.size() * width, 7.0f);
        LaunchFinishRows(nullptr, {static_cast<int>(rows), size, model_scales, work.data(), copy.data()});
        return copy;
      });
      for (size_t i = rows * width; i < out.size(); ++i) ASSERT_EQ(out[i], 7.0f) << "past the end";
      for (size_t row = 0; row < rows; ++row) {
        const auto begin = vectors.begin() + static_cast<std::ptrdiff_t>(row * width);
        const auto expected = Finished({begin, begin + size}, model_scales, work[row]);
        for (size_t i = 0; i < width; ++i) {
          ASSERT_NEAR(double{out[row * width + i]}, expected[i], std::abs(expected[i]) * 3e-7)
              << "row " << row << ", " << i << " of " << size;
        }
      }
    }
  }
}

// Squares that a float cannot hold, in either direction.
TEST(CudaFinishRows, VerySmallAndVeryLarge) {
  const std::vector<RowWork> work(2, RowWork{RowWork::kMean, 0, 1, 0});
  std::vector<float> vectors = {3e-30f, -4e-30f, 3e30f, 4e30f};
  LaunchFinishRows(nullptr, {2, 2, false, work.data(), vectors.data()});
  const float expected[] = {0.6f, -0.8f, 0.6f, 0.8f};
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(vectors[i], expected[i]);
}

// A cut vector is what it was before the cut: what was not a number there is gone, and none of its neighbours
// is.
TEST(CudaFinishRows, WhatIsNotANumberStaysInItsRow) {
  const std::vector<RowWork> work(3, RowWork{RowWork::kMean, 0, 1, 2});
  std::vector<float> vectors = {1, 2, 3, 1, NAN, 3, 1, 2, NAN};
  LaunchFinishRows(nullptr, {3, 3, false, work.data(), vectors.data()});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(std::isnan(vectors[i]));
    EXPECT_EQ(std::isnan(vectors[3 + i]), i < 2);
    EXPECT_FALSE(std::isnan(vectors[6 + i]));
  }
}

}  // namespace
}  // namespace trellis::engine::cuda
