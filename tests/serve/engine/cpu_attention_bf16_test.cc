// Against softmax(q k / sqrt(d)) v in double, for each way that this machine has.
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/attention_bf16.h"

namespace trellis::engine::cpu {
namespace {

struct Case {
  int tokens, head_dim, heads;
};

double Value(uint16_t bits) { return double{std::bit_cast<float>(uint32_t{bits} << 16)}; }

std::vector<double> Reference(const Bf16HeadOfRow& head) {
  const auto tokens = static_cast<size_t>(head.tokens), dim = static_cast<size_t>(head.head_dim);
  std::vector<double> out(tokens * dim), scores(tokens);
  for (size_t t = 0; t < tokens; ++t) {
    double sum = 0;
    for (size_t u = 0; u < tokens; ++u) {
      scores[u] = 0;
      for (size_t d = 0; d < dim; ++d) {
        scores[u] += Value(head.queries[t * head.stride + d]) * Value(head.keys[u * head.stride + d]);
      }
      scores[u] = std::exp(scores[u] / std::sqrt(static_cast<double>(dim)));
      sum += scores[u];
    }
    for (size_t u = 0; u < tokens; ++u) {
      for (size_t d = 0; d < dim; ++d)
        out[t * dim + d] += scores[u] / sum * Value(head.values[u * head.stride + d]);
    }
  }
  return out;
}

TEST(CpuAttentionBf16, IsTheFormulaInEachWay) {
  const std::vector<Bf16AttendFn> all = AllBf16Attends();
  if (all.empty()) GTEST_SKIP() << "SKIPPED: this processor has no instructions for bf16";
  for (const Bf16AttendFn attend : all) {
    Bf16AttentionScratch scratch;  // the same for all, as in the engine
    for (const Case& c : {Case{513, 32, 1},
                          {1, 32, 2},
                          {2, 8, 1},
                          {7, 16, 3},
                          {16, 64, 2},
                          {17, 20, 1},
                          {31, 32, 2},
                          {32, 32, 1},
                          {33, 1, 2},
                          {64, 96, 1},
                          {100, 5, 2},
                          {129, 64, 1}}) {
      const size_t stride = static_cast<size_t>(3 * c.heads * c.head_dim);
      std::mt19937 random(5);
      std::vector<uint16_t> numbers;
      for (size_t i = 0; i < stride * static_cast<size_t>(c.tokens); ++i) {
        const float value = static_cast<float>(random() % 20001) / 5000 - 2;
        numbers.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
      }
      const auto out_stride = static_cast<size_t>(c.heads * c.head_dim);
      std::vector<float> out(out_stride * static_cast<size_t>(c.tokens), 1234.0f);
      for (int h = 0; h < c.heads; ++h) {
        const uint16_t* const base = numbers.data() + h * c.head_dim;
        const Bf16HeadOfRow head{
            base, base + c.heads * c.head_dim, base + 2 * c.heads * c.head_dim, stride, c.tokens, c.head_dim};
        attend(head, scratch, {out.data() + h * c.head_dim, nullptr, out_stride});
        if (h + 1 < c.heads) {
          EXPECT_EQ(out[static_cast<size_t>((h + 1) * c.head_dim)], 1234.0f) << "the next head's";
        }
        const std::vector<double> expected = Reference(head);
        for (size_t t = 0; t < static_cast<size_t>(c.tokens); ++t) {
          for (size_t d = 0; d < static_cast<size_t>(c.head_dim); ++d) {
            const double value = double{out[t * out_stride + static_cast<size_t>(h * c.head_dim) + d]};
            // Weights are rounded to 8 bits, values are up to 2: the rest of a sum of roundings that are each
            // half of that.
            ASSERT_NEAR(value, expected[t * static_cast<size_t>(c.head_dim) + d], 4e-3)
                << c.tokens << " tokens, " << c.head_dim << " wide, token " << t << ", dim " << d;
          }
        }
      }
    }
  }
}

TEST(CpuAttentionBf16, LargeScoresDoNotOverflow) {
  for (const Bf16AttendFn attend : AllBf16Attends()) {
    // Two tokens whose scores are thousands apart: the nearer takes all.
    const uint16_t large = 0x4280, small = 0xc280, one = 0x3f80, two = 0x4000;  // 64, -64, 1, 2
    const std::vector<uint16_t> numbers = {large, large, one, small, small, two};
    std::vector<float> out(2);
    Bf16AttentionScratch scratch;
    attend({numbers.data(), numbers.data() + 1, numbers.data() + 2, 3, 2, 1}, scratch, {out.data(), nullptr, 1});
    EXPECT_EQ(out[0], 1.0f);
    EXPECT_EQ(out[1], 2.0f);
  }
}

}  // namespace
}  // namespace trellis::engine::cpu
