// Each backend against softmax(q k / sqrt(d)) v in double.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "serve/engine/cuda/kernels/attention_backends.h"
#include "tests/serve/engine/cuda/kernels/kernel_numbers.h"

namespace trellis::engine::cuda {
namespace {

struct Case {
  std::vector<int> lengths;
  int heads, head_size;
  double spread = 1;
};
// Tokens at the end that belong to no row, and tiles that are left over, as in a bucket that is not full.
constexpr size_t kSpareTokens = 3;
constexpr int kSpareTiles = 2;

struct Batch {
  std::vector<int32_t> starts;
  std::vector<QueryTile> tiles;
  std::vector<Bits16> qkv;
  AttentionArgs args;

  Batch(HalfType type, const Case& c) : starts(Starts(c.lengths)), tiles(Tiles(c.lengths, kSpareTiles)) {
    const auto tokens = static_cast<size_t>(starts.back());
    const auto stride = static_cast<size_t>(3 * c.heads * c.head_size);
    qkv = Numbers(static_cast<uint32_t>(tokens)).Halves(type, tokens * stride, c.spread);
    qkv.resize((tokens + kSpareTokens) * stride, kPoison);
    args.type = type;
    args.heads = c.heads;
    args.head_size = c.head_size;
    args.scale = static_cast<float>(1 / std::sqrt(c.head_size));
    Point();
  }
  void Point() {
    args.tiles = static_cast<int>(tiles.size());
    args.tile_map = tiles.data();
    args.cu_seqlens = starts.data();
    args.qkv = qkv.data();
  }

  size_t out_count() const {
    return (static_cast<size_t>(starts.back()) + kSpareTokens) *
           static_cast<size_t>(args.heads * args.head_size);
  }
  double At(size_t token, int which, int head, int i) const {
    const auto width = static_cast<size_t>(args.heads * args.head_size);
    const size_t column = static_cast<size_t>(head * args.head_size + i);
    return ValueOf(args.type, qkv[(token * 3 + static_cast<size_t>(which)) * width + column]);
  }
};

// Of one query and head: what comes out, and the same with the values' sizes: what errors of the weights are
// multiplied by.
struct Attended {
  std::vector<double> sums, sizes;
};
Attended Formula(const Batch& batch, size_t row, size_t query, int head) {
  const int size = batch.args.head_size;
  const auto begin = static_cast<size_t>(batch.starts[row]), end = static_cast<size_t>(batch.starts[row + 1]);
  std::vector<double> weights;
  double most = -INFINITY, total = 0;
  for (size_t key = begin; key < end; ++key) {
    double score = 0;
    for (int i = 0; i < size; ++i) score += batch.At(begin + query, 0, head, i) * batch.At(key, 1, head, i);
    weights.push_back(score / std::sqrt(size));
    most = std::max(most, weights.back());
  }
  for (double& weight : weights) total += weight = std::exp(weight - most);
  Attended attended{std::vector<double>(static_cast<size_t>(size)),
                    std::vector<double>(static_cast<size_t>(size))};
  for (size_t key = begin; key < end; ++key) {
    for (int i = 0; i < size; ++i) {
      const double value = weights[key - begin] / total * batch.At(key, 2, head, i);
      attended.sums[static_cast<size_t>(i)] += value;
      attended.sizes[static_cast<size_t>(i)] += std::abs(value);
    }
  }
  return attended;
}

using Tested = std::tuple<const AttentionBackend*, HalfType>;
class CudaAttention : public testing::TestWithParam<Tested> {
 protected:
  const AttentionBackend& backend() const { return *std::get<0>(GetParam()); }
  HalfType type() const { return std::get<1>(GetParam()); }
  bool Supports(const Case& c) const { return backend().supports({type(), c.heads, c.head_size, 512, 90}); }
  std::vector<Bits16> Run(Batch& batch) const {
    auto out = PoisonedHalves(batch.out_count());
    batch.args.out = out.data();
    backend().launch(nullptr, batch.args);
    return out;
  }
  void ExpectFormula(const Batch& batch, const std::vector<Bits16>& out) const;
};

void CudaAttention::ExpectFormula(const Batch& batch, const std::vector<Bits16>& out) const {
  const int heads = batch.args.heads, size = batch.args.head_size;
  size_t at = 0;
  for (size_t row = 0; row + 1 < batch.starts.size(); ++row) {
    const auto length = static_cast<size_t>(batch.starts[row + 1] - batch.starts[row]);
    for (size_t query = 0; query < length; ++query) {
      for (int head = 0; head < heads; ++head) {
        const Attended expected = Formula(batch, row, query, head);
        for (size_t i = 0; i < static_cast<size_t>(size); ++i, ++at) {
          // Weights may be rounded once, each by itself; scores are floats, of sums that may reach 30 here.
          const double bound = (Rounding(type()) + 1e-5) * expected.sizes[i] + 1e-7;
          ExpectRounded(type(), out[at], expected.sums[i], bound,
                        "row " + std::to_string(row) + " of " + std::to_string(length) + ", query " +
                            std::to_string(query) + ", head " + std::to_string(head) + " of size " +
                            std::to_string(size) + ", number " + std::to_string(i));
          if (HasFailure()) return;
        }
      }
    }
  }
  for (; at < out.size(); ++at) ASSERT_EQ(out[at], kPoison) << "a token of no row was written";
}

TEST_P(CudaAttention, IsTheFormula) {
  int tried = 0;
  for (const Case& c :
       std::vector<Case>{{{1, 5, 0, 63, 17}, 2, 32},  // an empty row
                         {{64, 65}, 1, 32},           // a tile's edges
                         {{33, 1, 31}, 2, 64},
                         {{63, 64}, 1, 64},
                         {{65, 0, 2}, 1, 64, 2},
                         {{66, 31}, 1, 128},
                         {{32, 64, 1}, 1, 128},
                         {{7, 40}, 3, 20, 2},  // sizes that the tensor cores' kernel does not have
                         {{9, 3}, 2, 1},
                         {{20}, 1, 96},
                         {{33}, 1, 256}}) {
    if (!Supports(c)) continue;
    ++tried;
    Batch batch(type(), c);
    ExpectFormula(batch, InEverySchedule([&] { return Run(batch); }));
  }
  EXPECT_GE(tried, 7);
}

TEST_P(CudaAttention, ALongRow) {
  Batch batch(type(), {{321, 2}, 1, 32, 1.5});
  ExpectFormula(batch, InEverySchedule([&] { return Run(batch); }));
}

// What comes out of a row does not depend on the rows beside it, nor on the bucket: bit for bit.
TEST_P(CudaAttention, ARowAloneIsTheSame) {
  for (const int size : {32, 64, 128}) {
    Batch beside(type(), {{40, 70, 3}, 1, size});
    const auto out = Run(beside);
    const auto token = static_cast<std::ptrdiff_t>(size);
    const std::vector<Bits16> mine(beside.qkv.begin() + 40 * 3 * token, beside.qkv.begin() + 110 * 3 * token);
    Batch alone(type(), {{70}, 1, size});
    std::copy(mine.begin(), mine.end(), alone.qkv.begin());
    alone.tiles = Tiles({70}, 0);
    alone.Point();
    const auto again = Run(alone);
    EXPECT_TRUE(std::equal(again.begin(), again.begin() + 70 * token, out.begin() + 40 * token)) << size;
  }
}

// Later keys have larger scores: what was summed before has to shrink.
TEST_P(CudaAttention, ScoresThatGrow) {
  for (const int size : {32, 64, 128}) {
    Batch batch(type(), {{130}, 1, size});
    for (size_t token = 0; token < 130; ++token) {
      for (size_t i = 0; i < static_cast<size_t>(size); ++i) {
        Bits16* const vectors = batch.qkv.data() + token * 3 * static_cast<size_t>(size) + i;
        vectors[0] = Rounded(type(), 0.25);
        vectors[size] = Rounded(type(), static_cast<double>(token) / 64);
      }
    }
    ExpectFormula(batch, InEverySchedule([&] { return Run(batch); }));
  }
}

TEST_P(CudaAttention, LargeScoresDoNotOverflow) {
  // Of two tokens, scores of 32 * 40 * 40 and its negative: the nearer takes all, exactly.
  Batch batch(type(), {{2}, 1, 32});
  for (size_t i = 0; i < 32; ++i) {
    for (size_t which : {0, 1}) {
      batch.qkv[which * 32 + i] = Rounded(type(), 40);
      batch.qkv[96 + which * 32 + i] = Rounded(type(), -40);
    }
    batch.qkv[64 + i] = Rounded(type(), 1);
    batch.qkv[96 + 64 + i] = Rounded(type(), 2);
  }
  const auto out = Run(batch);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(ValueOf(type(), out[i]), 1);
    EXPECT_EQ(ValueOf(type(), out[32 + i]), 2);
  }
}

TEST_P(CudaAttention, WhatIsNotANumberStaysInItsRow) {
  for (const size_t which : {0, 1, 2}) {  // a query, a key, a value
    Batch batch(type(), {{5, 4}, 1, 32});
    batch.qkv[(2 * 3 + which) * 32 + 4] = kPoison;
    const auto out = Run(batch);
    EXPECT_TRUE(std::isnan(ValueOf(type(), out[2 * 32 + 4]))) << which;
    for (size_t i = 5 * 32; i < 9 * 32; ++i) EXPECT_FALSE(std::isnan(ValueOf(type(), out[i]))) << which;
  }
}

TEST_P(CudaAttention, ABucketWithoutRows) {
  Batch batch(type(), {{0, 0}, 2, 32});
  for (const Bits16 bits : Run(batch)) EXPECT_EQ(bits, kPoison);
}

std::vector<const AttentionBackend*> Backends() {
  std::vector<const AttentionBackend*> backends;
  for (const AttentionBackend& backend : AttentionBackends()) backends.push_back(&backend);
  return backends;
}

INSTANTIATE_TEST_SUITE_P(Backends, CudaAttention,
                         testing::Combine(testing::ValuesIn(Backends()), BothTypes()),
                         [](const testing::TestParamInfo<Tested>& tested) {
                           const bool bf16 = std::get<1>(tested.param) == HalfType::kBf16;
                           return std::string(std::get<0>(tested.param)->name) + (bf16 ? "_bf16" : "_f16");
                         });

}  // namespace
}  // namespace trellis::engine::cuda
