// Against the sum of products in double.
#include <atomic>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/aligned.h"
#include "serve/engine/cpu/linear.h"

namespace trellis::engine::cpu {
namespace {

std::vector<float> Random(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(size);
  for (float& v : values) v = static_cast<float>(random() % 20001) / 10000 - 1;
  return values;
}

float FromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

struct Layer {
  int in, out;
  std::vector<float> weight = Random(static_cast<size_t>(in) * static_cast<size_t>(out), 1);
  std::vector<float> bias = Random(static_cast<size_t>(out), 2);

  absl::StatusOr<Linear> Make(Precision precision, Output output, std::optional<Activation> activation,
                              Matmuls& matmuls, int threads) const {
    return Linear::Create({in, out, out, precision, output, activation}, {weight, bias}, matmuls, threads);
  }
  double Exact(const std::vector<float>& x, size_t row, size_t column) const {
    double sum = double{bias[column]};
    for (size_t i = 0; i < static_cast<size_t>(in); ++i) {
      sum +=
          double{x[row * static_cast<size_t>(in) + i]} * double{weight[column * static_cast<size_t>(in) + i]};
    }
    return sum;
  }
};

// Rows in the precision's own form, and the layer's output as numbers.
std::vector<float> OutputsOf(const Linear& linear, const Layer& layer, Precision precision, Output output,
                             Crew& crew, const std::vector<float>& x) {
  const auto in = static_cast<size_t>(layer.in), out = static_cast<size_t>(layer.out);
  const size_t rows = x.size() / in, room = static_cast<size_t>(Linear::RowsRoom(static_cast<int>(rows)));
  Aligned<float> numbers(room * in), result(room * out);
  Aligned<uint16_t> halves(room * in);
  Aligned<uint8_t> bytes(room * in);
  std::vector<ByteRow> scales(rows);
  std::copy(x.begin(), x.end(), numbers.get());
  const RowKernels& kernels = RowKernelsOf(BestIsa());
  for (size_t r = 0; r < rows; ++r) {
    kernels.to_bf16(x.data() + r * in, layer.in, halves.get() + r * in);
    scales[r] = kernels.to_bytes(x.data() + r * in, layer.in, bytes.get() + r * in);
  }
  const void* source = numbers.get();
  if (precision == Precision::kBf16) source = halves.get();
  if (precision == Precision::kInt8) source = bytes.get();
  std::vector<std::atomic<int>> finished(rows);
  linear.Run(crew, source, scales, static_cast<int>(rows), result.get(),
             [&](int row) { ++finished[static_cast<size_t>(row)]; });
  for (const auto& times : finished) EXPECT_EQ(times, 1);
  std::vector<float> values;
  for (size_t i = 0; i < rows * out; ++i) {
    values.push_back(output == Output::kBf16 ? FromBf16(reinterpret_cast<const uint16_t*>(result.get())[i])
                                             : result.get()[i]);
  }
  return values;
}

std::vector<Precision> Precisions() {
  std::vector<Precision> precisions;
  for (const Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
    if (Supports(precision).ok()) precisions.push_back(precision);
  }
  return precisions;
}

class CpuLinear : public testing::TestWithParam<Precision> {
 protected:
  // How far off a sum of `in` products of numbers up to 1 may be.
  double Bound(int in) const {
    const double step = GetParam() == Precision::kF32 ? 1e-6 : GetParam() == Precision::kBf16 ? 4e-3 : 6e-3;
    return step * std::sqrt(static_cast<double>(in)) * 3;
  }
};

TEST_P(CpuLinear, IsTheSumOfProductsWhateverTheThreads) {
  for (const auto& [in, out] : {std::pair{384, 384}, {64, 448}, {32, 1}, {100, 70}, {1536, 384}}) {
    const Layer layer{in, out};
    for (const int threads : {1, 2, 3}) {
      Matmuls matmuls(threads);
      Crew crew(threads, UseOneThreadHere);
      auto linear = layer.Make(GetParam(), Output::kF32, {}, matmuls, threads);
      ASSERT_TRUE(linear.ok()) << linear.status();
      const size_t rows = 45;
      const std::vector<float> x = Random(rows * static_cast<size_t>(in), 3);
      const std::vector<float> y = OutputsOf(*linear, layer, GetParam(), Output::kF32, crew, x);
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t row = i / static_cast<size_t>(out), column = i % static_cast<size_t>(out);
        ASSERT_NEAR(double{y[i]}, layer.Exact(x, row, column), Bound(in)) << in << " " << out << " " << i;
      }
    }
  }
}

TEST_P(CpuLinear, ARowDoesNotDependOnHowManyThereAre) {
  const Layer layer{192, 320};
  Matmuls matmuls(1);
  Crew crew(1);
  auto linear = layer.Make(GetParam(), Output::kF32, Activation::kGelu, matmuls, 1);
  ASSERT_TRUE(linear.ok()) << linear.status();
  const std::vector<float> all = Random(1100 * 192, 3);
  const std::vector<float> together = OutputsOf(*linear, layer, GetParam(), Output::kF32, crew, all);
  for (const size_t rows : {1u, 2u, 15u, 16u, 17u, 33u, 100u, 129u, 500u, 512u, 513u}) {
    const std::vector<float> y = OutputsOf(*linear, layer, GetParam(), Output::kF32, crew,
                                           {all.begin(), all.begin() + static_cast<long>(rows * 192)});
    EXPECT_EQ(y, std::vector<float>(together.begin(), together.begin() + static_cast<long>(rows * 320)))
        << rows;
  }
}

TEST_P(CpuLinear, ActivationsComeAfterTheBias) {
  const Layer layer{64, 64};
  Matmuls matmuls(1);
  Crew crew(1);
  const std::vector<float> x = Random(20 * 64, 3);
  for (const Activation activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
    const Output output = GetParam() == Precision::kBf16 ? Output::kBf16 : Output::kF32;
    auto linear = layer.Make(GetParam(), output, activation, matmuls, 1);
    ASSERT_TRUE(linear.ok()) << linear.status();
    const std::vector<float> y = OutputsOf(*linear, layer, GetParam(), output, crew, x);
    for (size_t i = 0; i < y.size(); ++i) {
      const double v = layer.Exact(x, i / 64, i % 64);
      const double expected =
          activation == Activation::kRelu ? std::max(v, 0.0)
          : activation == Activation::kGelu
              ? 0.5 * v * std::erfc(-v / std::sqrt(2.0))
              : 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      const double bound = Bound(64) + (output == Output::kBf16 ? std::abs(expected) / 256 : 0);
      ASSERT_NEAR(double{y[i]}, expected, bound) << static_cast<int>(activation) << " " << i;
    }
  }
}

TEST_P(CpuLinear, NothingIsMadeTwice) {
  const Layer layer{60, 100};  // which fills no tiles: it is oneDNN's
  Matmuls matmuls(1);
  Crew crew(1);
  auto first = layer.Make(GetParam(), Output::kF32, {}, matmuls, 1);
  auto second = layer.Make(GetParam(), Output::kF32, {}, matmuls, 1);
  ASSERT_TRUE(first.ok() && second.ok());
  OutputsOf(*first, layer, GetParam(), Output::kF32, crew, Random(20 * 60, 3));
  EXPECT_EQ(matmuls.made(), 1);
  OutputsOf(*second, layer, GetParam(), Output::kF32, crew, Random(20 * 60, 3));
  OutputsOf(*first, layer, GetParam(), Output::kF32, crew, Random(30 * 60, 3));  // the same step of rows
  EXPECT_EQ(matmuls.made(), 1);
  OutputsOf(*first, layer, GetParam(), Output::kF32, crew, Random(40 * 60, 3));
  EXPECT_EQ(matmuls.made(), 2);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CpuLinear, testing::ValuesIn(Precisions()),
                         [](const auto& tested) { return std::string(NameOf(tested.param)); });

TEST(CpuMatmul, StepsOfRowsHoldThemAll) {
  for (int rows = 1; rows <= kMostRows; ++rows) {
    EXPECT_GE(RowsStep(rows), rows);
    EXPECT_LE(RowsStep(rows), Linear::RowsRoom(rows));
    EXPECT_EQ(RowsStep(RowsStep(rows)), RowsStep(rows));
  }
}

}  // namespace
}  // namespace trellis::engine::cpu
