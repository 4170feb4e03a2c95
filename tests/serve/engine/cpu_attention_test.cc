// Against softmax(q k / sqrt(d)) v in double, for every instruction set that this machine has.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cpu/attention.h"

namespace trellis::engine::cpu {
namespace {

struct Case {
  int tokens, head_dim, heads;
  float spread = 1;
};

struct Numbers {
  std::vector<float> values;  // [tokens, 3 * heads * head_dim], as the product of all three leaves it
  size_t stride;
};
Numbers Random(const Case& c) {
  Numbers numbers{{}, static_cast<size_t>(3 * c.heads * c.head_dim)};
  std::mt19937 random(11);
  for (size_t i = 0; i < numbers.stride * static_cast<size_t>(c.tokens); ++i) {
    numbers.values.push_back(c.spread * (static_cast<float>(random() % 20001) / 10000 - 1));
  }
  return numbers;
}

HeadOfRow HeadAt(const Numbers& numbers, const Case& c, int head) {
  const float* const base = numbers.values.data() + head * c.head_dim;
  return {base,      base + c.heads * c.head_dim, base + 2 * c.heads * c.head_dim, numbers.stride, c.tokens,
          c.head_dim};
}

std::vector<double> Reference(const HeadOfRow& head) {
  const auto tokens = static_cast<size_t>(head.tokens), dim = static_cast<size_t>(head.head_dim);
  std::vector<double> out(tokens * dim), scores(tokens);
  for (size_t t = 0; t < tokens; ++t) {
    double most = -INFINITY, sum = 0;
    for (size_t u = 0; u < tokens; ++u) {
      scores[u] = 0;
      for (size_t d = 0; d < dim; ++d) {
        scores[u] += double{head.queries[t * head.stride + d]} * double{head.keys[u * head.stride + d]};
      }
      scores[u] /= std::sqrt(static_cast<double>(dim));
      most = std::max(most, scores[u]);
    }
    for (double& score : scores) sum += score = std::exp(score - most);
    for (size_t u = 0; u < tokens; ++u) {
      for (size_t d = 0; d < dim; ++d)
        out[t * dim + d] += scores[u] / sum * double{head.values[u * head.stride + d]};
    }
  }
  return out;
}

class CpuAttention : public testing::TestWithParam<Isa> {};

TEST_P(CpuAttention, IsTheFormula) {
  AttentionScratch scratch;  // the same for all, as in the engine: longer rows leave their numbers behind
  for (const Case& c : {Case{700, 32, 1},
                        {1, 32, 2},
                        {2, 8, 1},
                        {7, 16, 3},
                        {8, 64, 2},
                        {9, 20, 1},
                        {31, 32, 2},
                        {32, 32, 1},
                        {33, 1, 2},
                        {64, 96, 1},
                        {100, 5, 2},
                        {129, 64, 1},
                        {40, 32, 2, 4.0f}}) {
    const Numbers numbers = Random(c);
    const size_t out_stride = static_cast<size_t>(c.heads * c.head_dim);
    std::vector<float> out(out_stride * static_cast<size_t>(c.tokens), 1234.0f);
    for (int h = 0; h < c.heads; ++h) {
      const HeadOfRow head = HeadAt(numbers, c, h);
      AttendOf(GetParam())(head, scratch, out.data() + h * c.head_dim, out_stride);
      if (h + 1 < c.heads) {
        EXPECT_EQ(out[static_cast<size_t>((h + 1) * c.head_dim)], 1234.0f) << "the next head's";
      }
      const std::vector<double> expected = Reference(head);
      for (size_t t = 0; t < static_cast<size_t>(c.tokens); ++t) {
        for (size_t d = 0; d < static_cast<size_t>(c.head_dim); ++d) {
          const double value = double{out[t * out_stride + static_cast<size_t>(h * c.head_dim) + d]};
          ASSERT_NEAR(value, expected[t * static_cast<size_t>(c.head_dim) + d],
                      3e-6 * double{c.spread} * double{c.spread})
              << c.tokens << " tokens, " << c.head_dim << " wide, token " << t << ", dim " << d;
        }
      }
    }
  }
}

TEST_P(CpuAttention, WhatIsNotANumberStaysSo) {
  const Case c{5, 8, 1};
  Numbers numbers = Random(c);
  numbers.values[2 * numbers.stride] = NAN;  // of one query
  std::vector<float> out(40);
  AttentionScratch scratch;
  AttendOf(GetParam())(HeadAt(numbers, c, 0), scratch, out.data(), 8);
  EXPECT_TRUE(std::isnan(out[2 * 8]));
  EXPECT_FALSE(std::isnan(out[1 * 8]));
  EXPECT_FALSE(std::isnan(out[3 * 8]));
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuAttention, testing::ValuesIn(AllIsas()),
                         [](const auto& tested) { return std::to_string(static_cast<int>(tested.param)); });

}  // namespace
}  // namespace trellis::engine::cpu
