#include "trellis/internal/stage/unigram.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/trie/trie_builder.h"
#include "tests/reference/unigram.h"
#include "tests/stage/hf_stage_rows.h"
#include "tests/stage/random_unigram.h"

namespace trellis::internal {
namespace {

using hf_stage::Json;
using reference::UnigramPiece;
using reference::UnigramToken;

// The stage's input, made of a list of pieces.
struct Model {
  Model(const std::vector<UnigramPiece>& pieces, TokenId unk) {
    double lowest = pieces[0].score;
    std::vector<TrieKey> keys;
    for (size_t i = 0; i < pieces.size(); ++i) {
      by_id.push_back(pieces[i].score);
      lowest = std::min(lowest, pieces[i].score);
      keys.push_back({pieces[i].text, static_cast<int32_t>(i), pieces[i].score});
    }
    scores = {by_id, lowest - 10.0, unk};
    bitmap = BuildBitmapTrie(keys, PageSize::kDefault);
    double_array = BuildDoubleArrayTrie(keys, PageSize::kDefault);
  }
  std::vector<double> by_id;
  UnigramScores scores;
  Table<BitmapTrieNode> bitmap;
  Table<DoubleArrayUnit> double_array;
};

template <ByteTrie Trie, typename Allowed>
std::optional<std::vector<UnigramToken>> Segment(const Trie& trie, const Model& model, std::string_view text, Allowed allowed) {
  std::vector<LatticeNode> lattice(text.size() + 1);
  if (RunUnigram(trie, model.scores, text, lattice, allowed) == UnigramResult::kNoUnk) return std::nullopt;
  std::vector<UnigramToken> tokens;
  ForEachUnigramPiece(lattice, static_cast<uint32_t>(text.size()),
                      [&](uint32_t begin, uint32_t end, TokenId id) { tokens.push_back({id, begin, end}); });
  return tokens;
}

TEST(Unigram, MatchesReference) {
  size_t texts = 0;
  hf_stage::ForEachRow("unigram", [&](Json row) {
    std::vector<UnigramPiece> pieces;
    for (const Json piece : simdjson::dom::array(row["pieces"])) pieces.push_back({hf_stage::String(piece.at(0)), double(piece.at(1))});
    const auto unk = static_cast<TokenId>(int64_t(row["unk"]));
    const Model model(pieces, unk);
    for (const Json one : simdjson::dom::array(row["texts"])) {
      const std::string text = hf_stage::String(one.at(0));
      SCOPED_TRACE(testing::PrintToString(text) + " with " + simdjson::minify(row["pieces"]));
      std::vector<UnigramToken> want;
      for (const Json token : simdjson::dom::array(one.at(1))) {
        const auto numbers = hf_stage::Numbers<size_t>(token);
        want.push_back({static_cast<TokenId>(numbers.at(0)), numbers.at(1), numbers.at(2)});
      }
      EXPECT_EQ(Segment(BitmapTrie(model.bitmap.span()), model, text, AllPieces()), want);
      EXPECT_EQ(Segment(DoubleArrayTrie(model.double_array.span()), model, text, AllPieces()), want);
      // The slow truth that other tests lean on says the same.
      EXPECT_EQ(reference::SegmentUnigram(pieces, unk, text, AllPieces()).tokens, want);
      ++texts;
    }
  });
  EXPECT_GE(texts, 1000u);
}

class RandomModels : public testing::TestWithParam<RandomUnigram::Scores> {};

TEST_P(RandomModels, MatchThePlainViterbi) {
  RandomUnigram random(static_cast<uint32_t>(GetParam()) + 1);
  size_t ties = 0, unknown = 0, shielded = 0;
  for (int n = 0; n < 400; ++n) {
    TokenId unk = 0;
    const std::vector<UnigramPiece> pieces = random.Pieces(GetParam(), unk);
    const Model model(pieces, unk);
    const TokenId forbidden = static_cast<TokenId>(random.Below(static_cast<uint32_t>(pieces.size())));
    const auto not_that = [&](TokenId id) { return id != forbidden; };
    for (int k = 0; k < 25; ++k) {
      const std::string text = random.Text(14, 7);
      SCOPED_TRACE(testing::PrintToString(text));
      const auto want = reference::SegmentUnigram(pieces, unk, text, AllPieces());
      ASSERT_EQ(Segment(BitmapTrie(model.bitmap.span()), model, text, AllPieces()), want.tokens);
      ASSERT_EQ(Segment(DoubleArrayTrie(model.double_array.span()), model, text, AllPieces()), want.tokens);
      const auto fewer = reference::SegmentUnigram(pieces, unk, text, not_that);
      ASSERT_EQ(Segment(BitmapTrie(model.bitmap.span()), model, text, not_that), fewer.tokens);
      ASSERT_EQ(Segment(DoubleArrayTrie(model.double_array.span()), model, text, not_that), fewer.tokens);
      ties += want.closest == 0.0;
      for (const UnigramToken& token : want.tokens) unknown += token.id == unk;
      shielded += fewer.tokens != want.tokens;
    }
  }
  // The texts meet what they are for.
  EXPECT_GT(unknown, 500u);
  EXPECT_GT(shielded, 100u);
  if (GetParam() == RandomUnigram::Scores::kTies) {
    EXPECT_GT(ties, 200u);
  }
}
INSTANTIATE_TEST_SUITE_P(Scores, RandomModels,
                         testing::Values(RandomUnigram::Scores::kNegative, RandomUnigram::Scores::kTies,
                                         RandomUnigram::Scores::kPositive, RandomUnigram::Scores::kHigh));

// A run of unknown characters that is a piece as a string becomes that piece.
// Only scores above zero let the unknown characters win (values: tokenizers 0.22.2,
// models.Unigram(...).tokenize).
TEST(Unigram, AFusedRunIsLookedUp) {
  const Model model({{"<unk>", 30.0}, {"xy", 30.0}, {"a", 30.0}}, 0);
  const auto run = [&](std::string_view text) { return Segment(BitmapTrie(model.bitmap.span()), model, text, AllPieces()); };
  EXPECT_EQ(run("xy"), (std::vector<UnigramToken>{{1, 0, 2}}));
  EXPECT_EQ(run("xyx"), (std::vector<UnigramToken>{{0, 0, 3}}));
  EXPECT_EQ(run("axya"), (std::vector<UnigramToken>{{2, 0, 1}, {1, 1, 3}, {2, 3, 4}}));
}

TEST(Unigram, WithoutUnkAnUnknownCharacterIsAnError) {
  const std::vector<UnigramPiece> pieces = {{"a", -1.0}, {"xy", -1.0}};
  const Model model(pieces, kNoPiece);
  EXPECT_EQ(Segment(BitmapTrie(model.bitmap.span()), model, "aa", AllPieces()), (std::vector<UnigramToken>{{0, 0, 1}, {0, 1, 2}}));
  EXPECT_EQ(Segment(BitmapTrie(model.bitmap.span()), model, "az", AllPieces()), std::nullopt);
  // The reference asks at every position, also where a longer piece covers it.
  EXPECT_EQ(Segment(BitmapTrie(model.bitmap.span()), model, "axy", AllPieces()), std::nullopt);
}

}  // namespace
}  // namespace trellis::internal
