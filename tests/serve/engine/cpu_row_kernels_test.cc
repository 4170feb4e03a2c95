// Against the plain formulas in double, for every instruction set that this machine has.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/row_kernels.h"

namespace trellis::engine::cpu {
namespace {

constexpr int kSizes[] = {1, 3, 4, 8, 15, 16, 17, 32, 100, 384, 1027};

std::vector<float> Random(int size, uint32_t seed, double low = -3, double high = 3) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& v : values)
    v = static_cast<float>(low + (high - low) * static_cast<double>(random()) / 4294967296.0);
  return values;
}

class CpuRowKernels : public testing::TestWithParam<Isa> {
 protected:
  const RowKernels& kernels_ = RowKernelsOf(GetParam());
};

TEST_P(CpuRowKernels, LayerNorm) {
  for (const int size : kSizes) {
    for (const bool with_added : {false, true}) {
      std::vector<float> x = Random(size, 1, -3, 5);
      const std::vector<float> added = Random(size, 2), gamma = Random(size, 3), beta = Random(size, 4);
      std::vector<double> sum(x.begin(), x.end());
      for (size_t i = 0; with_added && i < sum.size(); ++i) sum[i] += double{added[i]};
      double mean = 0, variance = 0;
      for (const double v : sum) mean += v / size;
      for (const double v : sum) variance += (v - mean) * (v - mean) / size;
      constexpr double kEps = 1e-5;
      kernels_.layer_norm(x.data(), with_added ? added.data() : nullptr, gamma.data(), beta.data(),
                          static_cast<float>(kEps), size);
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected =
            (sum[i] - mean) / std::sqrt(variance + kEps) * double{gamma[i]} + double{beta[i]};
        EXPECT_NEAR(double{x[i]}, expected, 5e-6) << size << " " << i;
      }
    }
  }
}

TEST_P(CpuRowKernels, LayerNormOfEqualValuesIsBeta) {
  std::vector<float> x(48, 1.5f);
  const std::vector<float> gamma = Random(48, 1), beta = Random(48, 2);
  kernels_.layer_norm(x.data(), nullptr, gamma.data(), beta.data(), 1e-12f, 48);
  EXPECT_EQ(x, beta);
}

TEST_P(CpuRowKernels, ToBf16RoundsToNearestEven) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<uint32_t, uint16_t>> cases = {
      {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82},
      {0x3f808001, 0x3f81}, {0xbf80ffff, 0xbf81}, {0x00000000, 0x0000},
      {0x80000000, 0x8000}, {0x7f7fffff, 0x7f80}, {std::bit_cast<uint32_t>(-kInfinity), 0xff80}};
  for (const int size : kSizes) {
    std::vector<float> x;
    std::vector<uint16_t> expected;
    for (int i = 0; i < size; ++i) {
      x.push_back(std::bit_cast<float>(cases[static_cast<size_t>(i) % cases.size()].first));
      expected.push_back(cases[static_cast<size_t>(i) % cases.size()].second);
    }
    std::vector<uint16_t> out(x.size(), 1);
    kernels_.to_bf16(x.data(), size, out.data());
    EXPECT_EQ(out, expected);
  }
  for (const float nan :
       {kNan, -kNan, std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0x7fffffffu)}) {
    uint16_t out = 0;
    kernels_.to_bf16(&nan, 1, &out);
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(uint32_t{out} << 16))) << std::bit_cast<uint32_t>(nan);
  }
}

TEST_P(CpuRowKernels, ToBytesKeepsEachValueToHalfAStep) {
  for (const int size : kSizes) {
    for (const auto& [low, high] : {std::pair{-3.0, 3.0}, {-0.17, 5.0}, {0.5, 2.0}, {-2.0, -1.0}}) {
      const std::vector<float> x = Random(size, 9, low, high);
      std::vector<uint8_t> out(x.size() + 1, 77);
      const ByteRow row = kernels_.to_bytes(x.data(), size, out.data());
      EXPECT_EQ(out.back(), 77);  // not written
      const float most = std::max(0.0f, *std::max_element(x.begin(), x.end()));
      const float least = std::min(0.0f, *std::min_element(x.begin(), x.end()));
      EXPECT_NEAR(row.scale, (most - least) / 255, 1e-6);
      for (size_t i = 0; i < x.size(); ++i) {
        const double value = double{row.scale} * (int{out[i]} - row.zero);
        // At both ends the zero's own rounding adds up to another half.
        EXPECT_NEAR(value, double{x[i]}, 1.001 * double{row.scale}) << size << " " << i;
      }
    }
  }
}

TEST_P(CpuRowKernels, ToBytesOfZerosAndOfWhatIsNotFinite) {
  std::vector<float> x(20, 0.0f);
  std::vector<uint8_t> out(x.size(), 1);
  ByteRow row = kernels_.to_bytes(x.data(), 20, out.data());
  EXPECT_TRUE(std::isfinite(row.scale));
  for (const uint8_t byte : out) EXPECT_EQ(int{byte} - row.zero, 0);
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (const size_t place : {size_t{0}, size_t{19}}) {
      x.assign(20, 1.0f);
      x[place] = odd;
      row = kernels_.to_bytes(x.data(), 20, out.data());
      EXPECT_FALSE(std::isfinite(row.scale)) << odd << " at " << place;
    }
  }
}

TEST_P(CpuRowKernels, FromBytesIsTheFormula) {
  for (const int size : kSizes) {
    std::mt19937 random(5);
    std::vector<int32_t> products, sums;
    for (int i = 0; i < size; ++i) {
      products.push_back(static_cast<int32_t>(random() % 2000000) - 1000000);
      sums.push_back(static_cast<int32_t>(random() % 2000) - 1000);
    }
    const std::vector<float> scales = Random(size, 6, 1e-4, 1e-2), bias = Random(size, 7);
    const ByteRow row{0.03f, 117};
    // In place, as the engine does it.
    std::vector<float> out(products.size());
    std::copy(products.begin(), products.end(), reinterpret_cast<int32_t*>(out.data()));
    kernels_.from_bytes(reinterpret_cast<const int32_t*>(out.data()), row,
                        {scales.data(), sums.data(), bias.data()}, {}, size, out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      const double expected =
          double{row.scale} * double{scales[i]} * (products[i] - row.zero * sums[i]) + double{bias[i]};
      EXPECT_NEAR(double{out[i]}, expected, 1e-6 * (1 + std::abs(expected)));
    }
  }
}

double Expected(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kRelu:
      return std::max(x, 0.0);
  }
  return 0;
}

TEST_P(CpuRowKernels, Activations) {
  for (const Activation activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
    std::vector<float> x;
    for (float v = -100; v < -20; v += 7.3f) x.push_back(v);
    for (float v = -20; v < 20; v += 0.0137f) x.push_back(v);
    for (float v = 20; v < 1e30f; v *= 3) x.push_back(v);
    x.insert(x.end(), {0.0f, -0.0f, 1e-30f, -1e-30f});
    // As the bias of a product that is 0.
    const std::vector<int32_t> zeros(x.size(), 0);
    const std::vector<float> ones(x.size(), 1.0f);
    std::vector<float> out(x.size());
    kernels_.from_bytes(zeros.data(), ByteRow{1, 0}, {ones.data(), zeros.data(), x.data()}, activation,
                        static_cast<int>(x.size()), out.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = Expected(activation, double{x[i]});
      EXPECT_NEAR(double{out[i]}, expected, 2e-7 * (1 + std::abs(double{x[i]})))
          << static_cast<int>(activation) << " of " << x[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuRowKernels, testing::ValuesIn(AllIsas()),
                         [](const auto& tested) { return std::to_string(static_cast<int>(tested.param)); });

}  // namespace
}  // namespace trellis::engine::cpu
