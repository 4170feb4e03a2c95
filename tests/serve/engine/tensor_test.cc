#include "serve/engine/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace trellis::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A vector's bytes, one byte off any alignment.
class Unaligned {
 public:
  template <typename Number>
  Unaligned(Dtype dtype, const std::vector<Number>& numbers) : bytes_(1 + numbers.size() * sizeof(Number)) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + 1);
    tensor_.dtype = dtype;
    tensor_.shape = {static_cast<int64_t>(numbers.size())};
    tensor_.bytes = std::span(bytes_).subspan(1);
  }
  const Tensor& tensor() const { return tensor_; }
  std::vector<float> Values() const {
    std::vector<float> values(static_cast<size_t>(tensor_.elements()));
    tensor_.CopyTo(values);
    return values;
  }

 private:
  std::vector<std::byte> bytes_;
  Tensor tensor_;
};

TEST(Tensor, WidensHalves) {
  const Unaligned halves(Dtype::kF16, std::vector<uint16_t>{0x3C00, 0xC000, 0x0000, 0x8000, 0x0001, 0x83FF,
                                                            0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7E01, 0x3555});
  std::vector<float> values = halves.Values();
  ASSERT_EQ(values.size(), 12u);
  EXPECT_TRUE(std::isnan(values[10]));
  values[10] = 0;
  EXPECT_EQ(values, (std::vector<float>{1.f, -2.f, 0.f, -0.f, 5.9604645e-08f, -6.097555e-05f, 6.1035156e-05f,
                                        65504.f, kInfinity, -kInfinity, 0.f, 0.33325195f}));
  EXPECT_TRUE(std::signbit(values[3]));
}

TEST(Tensor, WidensBrainFloats) {
  const Unaligned brains(Dtype::kBf16, std::vector<uint16_t>{0x3F80, 0xC000, 0x0001, 0x7F80, 0x4049});
  EXPECT_EQ(brains.Values(), (std::vector<float>{1.f, -2.f, 9.1835e-41f, kInfinity, 3.140625f}));
}

// Wherever it stands, also across the blocks that are looked at together.
TEST(Tensor, FindsTheFirstValueThatIsNotFinite) {
  constexpr size_t kSize = 5000;
  for (const size_t at : {size_t{0}, size_t{1}, size_t{2047}, size_t{2048}, size_t{4999}}) {
    std::vector<float> numbers(kSize, std::numeric_limits<float>::max());
    std::vector<uint16_t> halves(kSize, 0x7BFF), brains(kSize, 0x7F7F);
    EXPECT_EQ(Unaligned(Dtype::kF32, numbers).tensor().FirstNotFinite(), -1);
    EXPECT_EQ(Unaligned(Dtype::kF16, halves).tensor().FirstNotFinite(), -1);
    EXPECT_EQ(Unaligned(Dtype::kBf16, brains).tensor().FirstNotFinite(), -1);
    numbers[at] = -kInfinity;
    halves[at] = 0xFE00;
    brains[at] = 0x7F80;
    if (at + 1 < kSize) numbers.back() = std::nanf("");
    EXPECT_EQ(Unaligned(Dtype::kF32, numbers).tensor().FirstNotFinite(), static_cast<int64_t>(at));
    EXPECT_EQ(Unaligned(Dtype::kF16, halves).tensor().FirstNotFinite(), static_cast<int64_t>(at));
    EXPECT_EQ(Unaligned(Dtype::kBf16, brains).tensor().FirstNotFinite(), static_cast<int64_t>(at));
  }
  EXPECT_EQ(Unaligned(Dtype::kF32, std::vector<float>()).tensor().FirstNotFinite(), -1);
}

}  // namespace
}  // namespace trellis::engine
