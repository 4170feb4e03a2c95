#include "trellis/internal/stage/float_symbol_lattice.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "src/trie/char_trie_builder.h"
#include "src/trie/trie_builder.h"
#include "trellis/internal/stage/sentencepiece_unigram.h"

namespace trellis::internal {
namespace {

constexpr std::string_view kLetters = "abcx";  // no piece has an x

struct TestPiece {
  std::string text;
  float score;
};

// One model for both: SentencePiece's lattice over bytes, which is the truth, and
// symbols, a letter's place in kLetters and one.
class Model {
 public:
  Model(const std::vector<TestPiece>& pieces, double unit) {
    std::map<std::vector<Symbol>, CharTrieKey> keys;
    std::vector<TrieKey> bytes;
    float lowest = FLT_MAX;
    scores_.push_back(0.0F);  // the unknown piece
    texts_.emplace_back();
    for (const TestPiece& piece : pieces) {
      lowest = std::min(lowest, piece.score);
      texts_.push_back(Symbols(piece.text));
      scores_.push_back(piece.score);
    }
    view_ = {scores_, UnknownScore(lowest), 0};
    costs_ = {unit, 0.0, -static_cast<double>(view_.unk_score)};
    const auto cost = [&](float score) {
      const double exact = -static_cast<double>(score) * unit;
      costs_.rounding = std::max(costs_.rounding, std::abs(std::nearbyint(exact) - exact));
      return static_cast<uint32_t>(std::nearbyint(exact));
    };
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto id = static_cast<TokenId>(i + 1);
      keys[texts_[i + 1]] = {texts_[i + 1], id, cost(pieces[i].score)};
      bytes.push_back({pieces[i].text, id, static_cast<double>(pieces[i].score)});
    }
    std::vector<CharTrieKey> list;
    for (const auto& [symbols, key] : keys) list.push_back(key);
    const uint32_t unk_cost = cost(view_.unk_score);
    symbols_trie_ = *BuildCharTrie(list, static_cast<uint32_t>(kLetters.size()), 0, unk_cost, PageSize::kDefault);
    bytes_trie_ = BuildBitmapTrie(bytes, PageSize::kDefault);
  }

  static std::vector<Symbol> Symbols(std::string_view text) {
    std::vector<Symbol> symbols;
    for (const char c : text) symbols.push_back(static_cast<Symbol>(kLetters.find(c) + 1));
    return symbols;
  }

  void Read(std::string_view text) {
    count_ = static_cast<uint32_t>(text.size());
    symbols_ = Symbols(text);
    symbols_.resize(count_ + 8, kUnknownSymbol);
    keys_.assign(count_ + 8, 0x5A5A5A5A);
    units_.assign(count_ + 8, 0x5A5A5A5A);
  }
  double RunFar(int c) { return RunFarSymbolLattice(symbols_trie_.view(), Columns(), count_, costs_, c); }
  float RunExact(float before) {
    const FloatScores scores{view_.scores, view_.unk_score, view_.unk_id};
    return RunFloatSymbolLattice(symbols_trie_.view(), scores, Columns(), count_, before);
  }
  // Ids and ends of the path in the columns; 0 is the unknown.
  std::vector<uint32_t> Path() const {
    std::vector<uint32_t> path;
    for (uint32_t end = count_; end > 0; end -= static_cast<uint32_t>(keys_[end] & kLengthMask)) {
      path.insert(path.end(), {static_cast<uint32_t>(symbols_trie_.view().units[units_[end]].id), end});
    }
    return path;
  }

  // The reference's path through the end of `text` from `from` on (which no piece
  // may reach across), and its sum there and at the end.
  std::vector<uint32_t> Want(std::string_view text, uint32_t from, float& before, float& after) const {
    std::vector<SentencePieceNode> nodes(text.size() + 1);
    RunSentencePieceUnigram(BitmapTrie(bytes_trie_.span()), view_, text, nodes);
    before = nodes[from].score;
    after = nodes[text.size()].score;
    std::vector<uint32_t> path;  // last piece first
    for (uint32_t at = from; at < text.size();) {
      at = nodes[at].link;
      path.insert(path.begin(), {static_cast<uint32_t>(nodes[at].id), at - from});
    }
    return path;
  }

 private:
  SymbolColumns Columns() { return {symbols_.data(), keys_.data(), units_.data()}; }

  std::vector<float> scores_;
  std::vector<std::vector<Symbol>> texts_;
  SentencePieceScores view_;
  FloatCosts costs_;
  BuiltCharTrie symbols_trie_;
  Table<BitmapTrieNode> bytes_trie_;
  uint32_t count_ = 0;
  std::vector<Symbol> symbols_;
  std::vector<LatticeKey> keys_;
  std::vector<uint32_t> units_;
};

// Pieces whose scores are those of their parts, give or take what float sums of
// some size cannot tell apart. None has its letter x but alone: it stands for what
// no piece reaches across.
std::vector<TestPiece> ClosePieces(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  std::map<std::string, float> scores;
  for (const std::string letter : {"a", "b", "c"}) {
    scores[letter] = -2.0F - 9.0F * static_cast<float>(random()) / 4294967296.0F;
  }
  for (uint32_t n = 5 + below(30); n > 0; --n) {
    auto first = scores.begin(), second = scores.begin();
    std::advance(first, below(static_cast<uint32_t>(scores.size())));
    std::advance(second, below(static_cast<uint32_t>(scores.size())));
    const std::string text = first->first + second->first;
    if (text.size() > 8 || scores.contains(text)) continue;
    const float off = std::ldexp(static_cast<float>(below(9)) - 4.0F, -static_cast<int>(below(22)));
    scores[text] = first->second + second->second + off;
  }
  std::vector<TestPiece> pieces;
  for (const auto& [text, score] : scores) pieces.push_back({text, std::min(score, -0.5F)});
  return pieces;
}

std::string Word(std::mt19937& random, size_t most) {
  std::string word;
  for (size_t n = 1 + random() % most; n > 0; --n) word += kLetters[random() % 3];
  return word;
}

// Calls f(model, before, word) with texts of all lengths before a word.
template <typename F>
void ForEachWord(uint32_t seed, double unit, F&& f) {
  std::mt19937 random(seed);
  for (int n = 0; n < 60; ++n) {
    Model model(ClosePieces(random), unit);
    for (int k = 0; k < 30; ++k) {
      std::string before;
      for (size_t bytes = random() % (k == 0 ? 60000 : 3000); before.size() < bytes;) before += Word(random, 9) + 'x';
      if (before.empty()) before = "x";
      f(model, before, Word(random, k % 5 == 0 ? 200 : 10));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FloatSymbolLattice, IsTheReferencesInsideAText) {
  size_t shifted = 0;
  ForEachWord(1, 0x1p22, [&](Model& model, const std::string& before, const std::string& word) {
    float sum = 0.0F, after = 0.0F;
    const auto want = model.Want(before + word, static_cast<uint32_t>(before.size()), sum, after);
    model.Read(word);
    ASSERT_EQ(model.RunExact(sum), after) << word;
    ASSERT_EQ(model.Path(), want) << word;
    shifted += before.size() > 20000 && sum > -60000.0F;
  });
  EXPECT_GT(shifted, 5u);
}

// Sums are shifted at the first position beyond the limit, wherever in a word.
TEST(FloatSymbolLattice, ShiftsAsTheReference) {
  std::mt19937 random(3);
  size_t inside = 0;
  for (int n = 0; n < 400; ++n) {
    Model model(ClosePieces(random), 0x1p22);
    std::string before = "x";
    // Unknown letters reach the limit fast.
    float sum = 0.0F, after = 0.0F;
    while (sum > -99500.0F) {
      before += std::string(sum > -90000.0F ? 200 : 5, 'x') + Word(random, 4) + 'x';
      model.Want(before, static_cast<uint32_t>(before.size()), sum, after);
      if (before.size() > 30000) break;
    }
    const std::string word = Word(random, 150);
    const auto want = model.Want(before + word, static_cast<uint32_t>(before.size()), sum, after);
    model.Read(word);
    ASSERT_EQ(model.RunExact(sum), after) << word;
    ASSERT_EQ(model.Path(), want) << word;
    inside += after > -50000.0F && sum < -90000.0F;
  }
  EXPECT_GT(inside, 50u);
}

// The fast lattice's path is the exact one's for every sum within its reach, and
// nothing is shifted.
void CheckReach(double unit, uint32_t seed, size_t at_least_held, size_t at_least_lost) {
  std::mt19937 random(seed);
  size_t held = 0, lost = 0, wrong_beyond = 0;
  ForEachWord(seed, unit, [&](Model& model, const std::string&, const std::string& word) {
    model.Read(word);
    const double reach = model.RunFar(kHighestClass);
    ASSERT_LE(reach, kFarthestSum);
    const std::vector<uint32_t> path = model.Path();
    for (int k = 0; k < 40; ++k) {
      const bool within = reach >= 0.0 && k % 2 == 0;
      // Near the limit, where ulps are widest, and anywhere.
      const double any = std::ldexp(static_cast<double>(random()), -32);
      const double part = k % 4 == 0 ? 1.0 - any / 256.0 : any;
      const auto before = static_cast<float>(-(within ? reach : kFarthestSum) * part);
      if (within && -before > reach) continue;
      const float after = model.RunExact(before);
      const bool same = model.Path() == path;
      if (within) {
        ASSERT_TRUE(same) << word << " after " << before << ", reach " << reach;
        ASSERT_LT(after, before);
        ++held;
      } else if (-before > reach) {
        ++lost;
        wrong_beyond += !same;
      }
    }
  });
  EXPECT_GT(held, at_least_held);
  EXPECT_GT(lost, at_least_lost);
  // The reach is there for a reason.
  EXPECT_GT(wrong_beyond, 100u);
}

TEST(FloatSymbolLattice, FastIsRightWithinItsReach) { CheckReach(0x1p22, 5, 10000, 10000); }

// Coarse costs are no excuse.
TEST(FloatSymbolLattice, FastIsRightWithCoarseCosts) { CheckReach(0x1p10, 6, 5000, 10000); }

TEST(FloatSymbolLattice, CountsPiecesSinceTheFork) {
  // Best ways: 0-2-5-6, 0-2-3-7: the fork is at 2.
  const LatticeKey keys[] = {0, 1, 2, 1, 2, 3, 1, 4};
  EXPECT_EQ(PiecesSinceFork(keys, 6, 7), 4u);
  EXPECT_EQ(PiecesSinceFork(keys, 5, 2), 1u);
  EXPECT_EQ(PiecesSinceFork(keys, 2, 2), 0u);
  EXPECT_EQ(PiecesSinceFork(keys, 1, 2), 2u);
}

}  // namespace
}  // namespace trellis::internal
