#include "trellis/internal/stage/symbol_lattice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "src/trie/char_trie_builder.h"
#include "tests/reference/unigram.h"
#include "tests/stage/random_unigram.h"

namespace trellis::internal {
namespace {

using reference::UnigramPiece;
using reference::UnigramToken;

// Each character of well-formed text.
std::vector<std::string> Characters(std::string_view text) {
  const std::vector<size_t> at = reference::CharacterBoundaries(text);
  std::vector<std::string> characters;
  for (size_t i = 0; i + 1 < at.size(); ++i) characters.emplace_back(text.substr(at[i], at[i + 1] - at[i]));
  return characters;
}

// A list of pieces as both lattices want it: an alphabet, a trie of costs.
class SymbolModel {
 public:
  SymbolModel(const std::vector<UnigramPiece>& pieces, TokenId unk, double unit) {
    double lowest = pieces[0].score;
    std::map<std::vector<Symbol>, CharTrieKey> by_symbols;
    std::vector<std::vector<Symbol>> spelled;
    for (const UnigramPiece& piece : pieces) {
      by_id_.push_back(piece.score);
      lowest = std::min(lowest, piece.score);
      spelled.push_back({});
      for (const std::string& character : Characters(piece.text)) {
        spelled.back().push_back(alphabet_.emplace(character, static_cast<Symbol>(alphabet_.size() + 1)).first->second);
      }
    }
    scores_ = {by_id_, lowest - 10.0, unk};
    const auto cost = [&](double score) { return static_cast<uint32_t>(std::lround(-score * unit)); };
    for (size_t i = 0; i < pieces.size(); ++i) {
      by_symbols[spelled[i]] = {spelled[i], static_cast<int32_t>(i), cost(pieces[i].score)};  // the last of equal ones
    }
    std::vector<CharTrieKey> keys;
    for (const auto& [symbols, key] : by_symbols) keys.push_back(key);
    built_ = *BuildCharTrie(keys, static_cast<uint32_t>(alphabet_.size()), unk, cost(scores_.unk_score), PageSize::kDefault);
  }

  // The columns for one text, from now on.
  void Read(std::string_view text) {
    at_ = reference::CharacterBoundaries(text);
    const size_t room = at_.size() + 8;
    symbols_.assign(room, kUnknownSymbol);
    keys_.assign(room, 0x5A5A5A5A);
    units_.assign(room, 0x5A5A5A5A);
    const std::vector<std::string> characters = Characters(text);
    for (size_t i = 0; i < characters.size(); ++i) {
      const auto it = alphabet_.find(characters[i]);
      symbols_[i] = it == alphabet_.end() ? kUnknownSymbol : it->second;
    }
  }

  Closeness RunFast(int64_t margin) { return RunSymbolLattice(built_.view(), Columns(), Count(), margin); }

  template <typename Allowed>
  void RunExact(Allowed allowed) {
    RunExactSymbolLattice(built_.view(), scores_, Columns(), Count(), allowed);
  }

  std::vector<UnigramToken> Path() {
    std::vector<UnigramToken> tokens;
    ForEachPieceBackwards(built_.view(), Columns(), scores_.unk_id, Count(),
                          [&](uint32_t begin, uint32_t end, TokenId id) { tokens.push_back({id, at_[begin], at_[end]}); });
    std::reverse(tokens.begin(), tokens.end());
    return tokens;
  }

 private:
  uint32_t Count() const { return static_cast<uint32_t>(at_.size() - 1); }
  SymbolColumns Columns() { return {symbols_.data(), keys_.data(), units_.data()}; }

  std::map<std::string, Symbol> alphabet_;
  std::vector<double> by_id_;
  UnigramScores scores_;
  BuiltCharTrie built_;
  std::vector<size_t> at_;
  std::vector<Symbol> symbols_;
  std::vector<LatticeKey> keys_;
  std::vector<uint32_t> units_;
};

constexpr double kUnit = 65536.0;
// Texts of at most 14 pieces, each cost off by at most half a unit, in two sums.
constexpr uint32_t kMostPieces = 14;
constexpr int64_t kMargin = kMostPieces + 1;

// Calls f(model, text, pieces, unk) for many.
template <typename F>
void ForEachText(RandomUnigram::Scores scores, uint32_t seed, F&& f) {
  RandomUnigram random(seed);
  for (int n = 0; n < 400; ++n) {
    TokenId unk = 0;
    const std::vector<UnigramPiece> pieces = random.Pieces(scores, unk);
    SymbolModel model(pieces, unk, kUnit);
    for (int k = 0; k < 25; ++k) {
      const std::string text = random.Text(kMostPieces, 7);
      SCOPED_TRACE(testing::PrintToString(text));
      model.Read(text);
      f(model, text, pieces, unk);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

class SymbolLattice : public testing::TestWithParam<RandomUnigram::Scores> {};
INSTANTIATE_TEST_SUITE_P(Scores, SymbolLattice, testing::Values(RandomUnigram::Scores::kNegative, RandomUnigram::Scores::kTies));

TEST_P(SymbolLattice, ExactIsThePlainViterbi) {
  size_t unknown = 0;
  ForEachText(GetParam(), 21, [&](SymbolModel& model, const std::string& text, const auto& pieces, TokenId unk) {
    const auto want = reference::SegmentUnigram(pieces, unk, text, AllPieces()).tokens;
    model.RunExact(AllPieces());
    ASSERT_EQ(model.Path(), want);
    for (const UnigramToken& token : want) unknown += token.id == unk;
  });
  EXPECT_GT(unknown, 500u);
}

TEST_P(SymbolLattice, ExactLeavesOutWhatIsNotAllowed) {
  size_t different = 0, n = 0;
  ForEachText(GetParam(), 22, [&](SymbolModel& model, const std::string& text, const auto& pieces, TokenId unk) {
    const auto forbidden = static_cast<TokenId>(++n % pieces.size());
    const auto allowed = [&](TokenId id) { return id != forbidden; };
    const auto want = reference::SegmentUnigram(pieces, unk, text, allowed).tokens;
    model.RunExact(allowed);
    ASSERT_EQ(model.Path(), want);
    model.RunExact(AllPieces());
    different += model.Path() != want;
  });
  EXPECT_GT(different, 100u);
}

// Clear means right. And a call is close only where two ways are: never when all
// differ by more than the rounding of both sums and the margin.
TEST_P(SymbolLattice, FastIsRightWhereItIsSure) {
  size_t clear = 0, close = 0;
  ForEachText(GetParam(), 23, [&](SymbolModel& model, const std::string& text, const auto& pieces, TokenId unk) {
    const auto want = reference::SegmentUnigram(pieces, unk, text, AllPieces());
    const Closeness closeness = model.RunFast(kMargin);
    if (closeness == Closeness::kClear) {
      ASSERT_EQ(model.Path(), want.tokens);
      ASSERT_GT(want.closest, 0.0);
      ++clear;
    } else {
      ASSERT_LT(want.closest, static_cast<double>(2 * kMargin + 2) / kUnit);
      ++close;
    }
  });
  EXPECT_GT(clear, 500u);
  EXPECT_GT(close, GetParam() == RandomUnigram::Scores::kTies ? 200u : 0u);
}

// Scores that are whole costs: nothing is rounded, so that even of ties the fast
// lattice keeps the way that the reference keeps. And a tie is never clear.
TEST(SymbolLatticeTies, TheFirstWayFoundStays) {
  size_t ties = 0;
  ForEachText(RandomUnigram::Scores::kTies, 24, [&](SymbolModel& model, const std::string& text, const auto& pieces, TokenId unk) {
    const auto want = reference::SegmentUnigram(pieces, unk, text, AllPieces());
    const Closeness closeness = model.RunFast(0);
    ASSERT_EQ(model.Path(), want.tokens);
    ASSERT_EQ(closeness == Closeness::kClose, want.closest == 0.0);
    ties += want.closest == 0.0;
  });
  EXPECT_GT(ties, 200u);
}

// A margin that is too small does go wrong: what the margin is for exists.
TEST(SymbolLatticeMargin, CoarseCostsNeedIt) {
  RandomUnigram random(25);
  size_t wrong_without = 0, clear = 0;
  for (int n = 0; n < 300; ++n) {
    TokenId unk = 0;
    const std::vector<UnigramPiece> pieces = random.Pieces(RandomUnigram::Scores::kNegative, unk);
    SymbolModel model(pieces, unk, 0.4);  // two and a half scores a cost
    for (int k = 0; k < 20; ++k) {
      const std::string text = random.Text(kMostPieces, 7);
      const auto want = reference::SegmentUnigram(pieces, unk, text, AllPieces()).tokens;
      model.Read(text);
      wrong_without += model.RunFast(0) == Closeness::kClear && model.Path() != want;
      if (model.RunFast(kMargin) != Closeness::kClear) continue;
      ++clear;
      ASSERT_EQ(model.Path(), want) << testing::PrintToString(text);
    }
  }
  EXPECT_GT(wrong_without, 0u);
  EXPECT_GT(clear, 100u);
}

}  // namespace
}  // namespace trellis::internal
