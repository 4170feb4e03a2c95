// What cpu_linear_test.cc does not see: GELU by itself, and bytes that come out as bf16.
#include <bit>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/amx.h"
#include "serve/engine/cpu/amx_product.h"

namespace trellis::engine::cpu {
namespace {

TEST(CpuAmxProduct, GeluIsNearEverywhere) {
  if (!HasAmx(Precision::kBf16)) GTEST_SKIP() << "SKIPPED: AMX with bf16 may not be used here";
  // Nothing but the bias comes out of a weight of zeros.
  constexpr int kIn = 32, kOut = 32 * 200;
  std::vector<float> bias(kOut), out(kOut);
  for (int i = 0; i < kOut; ++i) bias[static_cast<size_t>(i)] = static_cast<float>(i - kOut / 2) / 400;
  const AmxWeight weight(std::vector<float>(size_t{kIn} * kOut), bias, kIn);
  const std::vector<uint16_t> in(16 * kIn, 0x3f80);
  weight.Multiply(in.data(), nullptr, 1, 0, kOut, Activation::kGelu, Output::kF32, out.data(), kOut);
  for (size_t i = 0; i < out.size(); ++i) {
    const double x = double{bias[i]};
    ASSERT_NEAR(double{out[i]}, 0.5 * x * std::erfc(-x / std::sqrt(2.0)), 1e-4) << x;
  }
}

TEST(CpuAmxProduct, BytesComeOutAsBf16InTheirPlace) {
  if (!HasAmx(Precision::kInt8)) GTEST_SKIP() << "SKIPPED: AMX with bytes may not be used here";
  constexpr int kIn = 64, kOut = 96, kRows = 19;
  std::vector<int8_t> weight;
  for (int i = 0; i < kIn * kOut; ++i) weight.push_back(static_cast<int8_t>(i * 37 % 255 - 127));
  std::vector<int32_t> sums(kOut);
  for (size_t i = 0; i < weight.size(); ++i) sums[i / kIn] += weight[i];
  const std::vector<float> scales(kOut, 0.01f), bias(kOut, 0.5f);
  const AmxWeight packed(weight, scales, sums, bias, kIn);
  std::vector<uint8_t> in;
  for (int i = 0; i < 32 * kIn; ++i) in.push_back(static_cast<uint8_t>(i * 11));
  const std::vector<ByteRow> rows(kRows, {0.02f, 100});
  std::vector<uint16_t> out(kRows * kOut, 0x4242);
  packed.Multiply(in.data(), rows.data(), kRows, 32, 64, {}, Output::kBf16, out.data() + 32, kOut);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t row = i / kOut, column = i % kOut;
    if (column < 32) {
      EXPECT_EQ(out[i], 0x4242) << i;
      continue;
    }
    double sum = 0;
    for (size_t k = 0; k < kIn; ++k) sum += (in[row * kIn + k] - 100.0) * weight[column * kIn + k];
    const double expected = sum * 0.01 * 0.02 + 0.5;
    ASSERT_NEAR(double{std::bit_cast<float>(uint32_t{out[i]} << 16)}, expected,
                std::abs(expected) / 256 + 1e-4)
        << i;
  }
}

}  // namespace
}  // namespace trellis::engine::cpu
