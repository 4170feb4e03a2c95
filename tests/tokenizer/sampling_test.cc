// N-best and sampling against all ways through a small text, counted out.
#include "trellis/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/tokenizer/small_specs.h"
#include "trellis/internal/draw_index.h"

namespace trellis {
namespace {

constexpr char kText[] = "abaab";

TokenizerSpec SmallSentencePieceSpec() {
  TokenizerSpec spec;
  spec.dialect = Dialect::kSentencePiece;
  spec.normalizers = {SentencePieceNormalizer{}};
  spec.decoders = {SentencePieceDecoder{}};
  spec.model.pieces = {{"<unk>", 0.0, PieceType::kUnknown}, {"\u2581", -1.5},  {"a", -2.25}, {"b", -2.5},
                       {"ab", -3.0},                        {"ba", -3.5},      {"aa", -3.75}, {"aba", -4.5},
                       {"\u2581a", -2.75},                  {"\u2581ab", -4.0}, {"aab", -5.0}};
  spec.model.unk_id = 0;
  return spec;
}

Tokenizer Small() { return Tokenizer::Create(SmallSentencePieceSpec()).value(); }

using Ways = std::map<std::vector<TokenId>, double>;  // and their scores

// Every way to spell `rest` with the pieces.
void CountOut(const TokenizerSpec& spec, std::string_view rest, std::vector<TokenId>& so_far, double score, Ways& out) {
  if (rest.empty()) out[so_far] = score;
  for (size_t id = 1; id < spec.model.pieces.size(); ++id) {
    const Piece& piece = spec.model.pieces[id];
    if (!rest.starts_with(piece.text)) continue;
    so_far.push_back(static_cast<TokenId>(id));
    CountOut(spec, rest.substr(piece.text.size()), so_far, score + piece.score, out);
    so_far.pop_back();
  }
}

Ways AllWays() {
  Ways ways;
  std::vector<TokenId> so_far;
  CountOut(SmallSentencePieceSpec(), "\u2581" + std::string(kText), so_far, 0.0, ways);
  return ways;
}

std::map<std::vector<TokenId>, double> Probabilities(const Ways& ways, double alpha) {
  double sum = 0.0;
  for (const auto& [ids, score] : ways) sum += std::exp(alpha * score);
  std::map<std::vector<TokenId>, double> out;
  for (const auto& [ids, score] : ways) out[ids] = std::exp(alpha * score) / sum;
  return out;
}

// Pearson's statistic of what was drawn.
double ChiSquare(const std::map<std::vector<TokenId>, int>& drawn, const std::map<std::vector<TokenId>, double>& expected,
                 int count) {
  double sum = 0.0;
  for (const auto& [ids, probability] : expected) {
    const auto found = drawn.find(ids);
    const double difference = (found == drawn.end() ? 0 : found->second) - probability * count;
    sum += difference * difference / (probability * count);
  }
  return sum;
}

// Eight standard deviations above the statistic's mean: never by chance, and the
// draws of a seed are the same each time.
double Bound(size_t ways) {
  const double freedom = static_cast<double>(ways) - 1;
  return freedom + 8 * std::sqrt(2 * freedom);
}

std::map<std::vector<TokenId>, int> Draw(const SampleOptions& options, int count) {
  const Tokenizer tokenizer = Small();
  std::mt19937 random(20240607);
  std::map<std::vector<TokenId>, int> drawn;
  for (int i = 0; i < count; ++i) ++drawn[EncodeSample(tokenizer, kText, options, random).value().ids];
  return drawn;
}

TEST(Sampling, AllWaysAreDrawnInProportion) {
  constexpr int kCount = 20000;
  const Ways ways = AllWays();
  ASSERT_GT(ways.size(), 20u);
  for (const float alpha : {0.0F, 0.3F, 1.0F}) {
    const auto drawn = Draw({.nbest_size = -1, .alpha = alpha}, kCount);
    for (const auto& [ids, times] : drawn) EXPECT_TRUE(ways.contains(ids));
    EXPECT_LT(ChiSquare(drawn, Probabilities(ways, alpha), kCount), Bound(ways.size())) << alpha;
    // The bound tells one alpha from the next.
    EXPECT_GT(ChiSquare(drawn, Probabilities(ways, alpha + 0.15), kCount), Bound(ways.size())) << alpha;
  }
}

TEST(Sampling, OfTheBestOnlyThoseAreDrawn) {
  constexpr int kCount = 10000, kBest = 6;
  std::vector<std::pair<double, std::vector<TokenId>>> by_score;
  for (const auto& [ids, score] : AllWays()) by_score.emplace_back(-score, ids);
  std::sort(by_score.begin(), by_score.end());
  ASSERT_LT(by_score[kBest - 1].first, by_score[kBest].first) << "no tie at the edge";
  Ways best;
  for (int i = 0; i < kBest; ++i) best[by_score[static_cast<size_t>(i)].second] = -by_score[static_cast<size_t>(i)].first;
  const auto drawn = Draw({.nbest_size = kBest, .alpha = 0.5F}, kCount);
  EXPECT_EQ(drawn.size(), best.size());
  EXPECT_LT(ChiSquare(drawn, Probabilities(best, 0.5), kCount), Bound(best.size()));
}

TEST(Sampling, ScoreOfASampleIsItsLogProbability) {
  const auto probabilities = Probabilities(AllWays(), 0.7);
  const Tokenizer tokenizer = Small();
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const Segmentation sample = EncodeSample(tokenizer, kText, {.alpha = 0.7F}, random).value();
    EXPECT_NEAR(sample.score, std::log(probabilities.at(sample.ids)), 1e-4);
  }
}

TEST(Sampling, NBestIsEveryWayByScore) {
  const Ways ways = AllWays();
  const auto best = EncodeNBest(Small(), kText, kMostNBest).value();
  ASSERT_EQ(best.size(), ways.size());
  for (size_t i = 0; i < best.size(); ++i) {
    EXPECT_NEAR(best[i].score, ways.at(best[i].ids), 1e-4);
    if (i > 0) {
      EXPECT_LE(best[i].score, best[i - 1].score);
    }
    EXPECT_EQ(best[i].offsets.back().end, 5u);
  }
  EXPECT_EQ(EncodeNBest(Small(), kText, 1).value().front().ids, Small().Encode(kText).value().ids);
  EXPECT_EQ(EncodeNBest(Small(), "", 5).value().size(), 1u);
}

TEST(Sampling, SaysWhatItCannotDo) {
  std::mt19937 random(1);
  const Tokenizer hugging_face = Tokenizer::Create(SmallSpec()).value();
  EXPECT_EQ(EncodeNBest(hugging_face, "a", 2).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(EncodeSample(hugging_face, "a", {}, random).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(EncodeSample(Small(), "a", {.nbest_size = 513}, random).status().message(),
            "nbest_size: 513, expected at most 512");
  EXPECT_EQ(EncodeSample(Small(), "a", {.alpha = std::nanf("")}, random).status().code(),
            absl::StatusCode::kInvalidArgument);
}

#ifdef __GLIBCXX__
TEST(Sampling, DrawsAsTheStandardLibraryOfTheReference) {
  std::mt19937 ours(7), theirs(7);
  std::mt19937 shape(8);
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> weights(1 + shape() % 9);
    for (double& weight : weights) weight = static_cast<float>(shape() % 1000) + (weights.size() == 1 ? 1.0 : 0.5);
    std::discrete_distribution<int> distribution(weights.begin(), weights.end());
    ASSERT_EQ(internal::DrawIndex(weights, ours), static_cast<size_t>(distribution(theirs)));
  }
}
#endif

}  // namespace
}  // namespace trellis
