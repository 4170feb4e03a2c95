// The ways through the library in SentencePiece's dialect, where sums go on from
// word to word: rounding, and with it the choice in close words, depends on all
// that came before. tests/golden says which tokens are right.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/invariance/path_comparison.h"
#include "trellis/trellis.h"

namespace trellis {
namespace {

absl::StatusOr<TokenizerSpec> Model() { return LoadSpec(ModelPath() + "/sentencepiece.bpe.model"); }

TEST(SentencePiecePaths, AgreeOnGeneratedTexts) {
  const auto spec = Model();
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  Compare(*spec, Generated(*spec, 20000));
}

TEST(SentencePiecePaths, AgreeOnBlanks) {
  const auto spec = Model();
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  Compare(*spec, BlankTexts());
}

// Without rules U+2581 in a text stays, and such texts take the plain path.
TEST(SentencePiecePaths, AgreeOnMarkersInText) {
  auto spec = Model();
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  std::get<SentencePieceNormalizer>(spec->normalizers[0]).charsmap.clear();
  Compare(*spec, BlankTexts());
  Compare(*spec, Generated(*spec, 5000));
}

TEST(SentencePiecePaths, AgreeForSmallModels) {
  for (const std::string name : {"identity", "denormalizer", "unused", "empty_unk_surface"}) {
    SCOPED_TRACE(name);
    const auto spec = LoadSpec(TRELLIS_SOURCE_DIR "/tests/golden/sp_models/" + name + ".model");
    ASSERT_TRUE(spec.ok()) << spec.status();
    Compare(*spec, BlankTexts());
    Compare(*spec, Generated(*spec, 5000));
    if (HasFatalFailure()) return;
  }
}

// Repeated letters and syllables, whose paths tie but for rounding, far and near.
TEST(SentencePiecePaths, AgreeOnNearTies) {
  const auto spec = Model();
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  std::mt19937 random(4);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const std::vector<std::string> letters = {"a", "n",  "c",  "?",   ".",      "!",      "-",     "o",
                                            "0", "ha", "la", "ann", "\u3042", "\u0e01", "\u54c8"};
  std::vector<std::string> texts;
  for (int n = 0; n < 300; ++n) {
    std::string text;
    for (uint32_t words = below(n % 10 == 0 ? 3000 : 60); words > 0; --words) {
      if (below(2) == 0) text += letters[below(static_cast<uint32_t>(letters.size()))];
      const std::string& letter = letters[below(static_cast<uint32_t>(letters.size()))];
      for (uint32_t times = below(below(20) == 0 ? 150 : 9); times > 0; --times) text += letter;
      text += below(3) == 0 ? letters[below(static_cast<uint32_t>(letters.size()))] + " " : " ";
    }
    texts.push_back(text);
  }
  Compare(*spec, texts);
}

// Far beyond where the reference shifts its sums back to zero.
TEST(SentencePiecePaths, AgreeOnLongTexts) {
  const auto spec = Model();
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  GeneratedTexts generator(*spec, 8);
  std::string mixed, unspaced;
  while (mixed.size() < 2000000) mixed += generator.Next() + ' ';
  while (unspaced.size() < 300000) {
    unspaced += "\u0e01\u0e32\u0e23\u0e17\u0e14\u0e2a\u0e2d\u0e1a\u6771\u4eac\u90fdnnn";
    if (unspaced.size() % 7 == 0) unspaced += ' ';
  }
  Compare(*spec, {mixed, unspaced, std::string(400000, 'n')});
}

// But for <unk>.
TokenizerSpec SpecWithoutPieces() {
  TokenizerSpec spec;
  spec.dialect = Dialect::kSentencePiece;
  spec.normalizers = {SentencePieceNormalizer{}};
  spec.decoders = {SentencePieceDecoder{}};
  spec.post_processor.single = {TemplateSequence{Sequence::kA, 0}};
  spec.model.pieces = {{"<unk>", 0.0, PieceType::kUnknown}};
  spec.model.unk_id = 0;
  return spec;
}

// A vocabulary of few letters where many ways tie or come close: the score of a
// piece is that of its parts, give or take nothing, a few units in the last
// place of sums in some range, or more.
TokenizerSpec TyingSpec(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  TokenizerSpec spec = SpecWithoutPieces();
  std::map<std::string, float> scores;
  // Some on a coarse grid, where sums are exact for long and ties are many.
  const bool grid = below(3) == 0;
  const auto fresh = [&] {
    const float score = -1.0F - 12.0F * static_cast<float>(random()) / 4294967296.0F;
    return grid ? std::floor(score * 4.0F) / 4.0F : score;
  };
  for (const std::string letter : {"\u2581", "a", "b", "c"}) scores[letter] = fresh();
  for (uint32_t n = 4 + below(40); n > 0; --n) {
    auto first = scores.begin(), second = scores.begin();
    std::advance(first, below(static_cast<uint32_t>(scores.size())));
    std::advance(second, below(static_cast<uint32_t>(scores.size())));
    if (second->first.starts_with("\u2581")) continue;
    const std::string text = first->first + second->first;
    if (text.size() > 12 || scores.contains(text)) continue;
    float score = first->second + second->second;
    if (below(4) != 0) score += std::ldexp(static_cast<float>(below(9)) - 4.0F, -static_cast<int>(below(22)));
    scores[text] = std::min(below(8) == 0 ? fresh() : score, -0.125F);
  }
  for (const auto& [text, score] : scores) spec.model.pieces.push_back({text, score, PieceType::kNormal});
  return spec;
}

// Two letters of which every pair ties with a piece, and a word that is good as one piece only.
TokenizerSpec ShiftingSpec(int n) {
  TokenizerSpec spec = SpecWithoutPieces();
  const float a = -5.69F - 0.137F * static_cast<float>(n), b = -7.31F - 0.071F * static_cast<float>(n);
  const std::vector<std::pair<std::string, float>> scores = {
      {"\u2581", -40.5F - static_cast<float>(n)}, {"x", -50.0F}, {"y", -50.0F}, {"z", -50.0F}, {",", -3.1F},
      {"\u2581xyz", -9.7F}, {"a", a}, {"b", b}, {"aa", a + a}, {"ab", a + b}, {"ba", a + b}, {"bb", b + b},
      {"\u2581a", -40.5F - static_cast<float>(n) + a}, {"\u2581b", -40.5F - static_cast<float>(n) + b}};
  for (const auto& [text, score] : scores) spec.model.pieces.push_back({text, score, PieceType::kNormal});
  return spec;
}

TEST(SentencePiecePaths, AgreeWhereWaysTie) {
  const char* count = std::getenv("TRELLIS_TEXTS");
  const int models = count != nullptr ? std::atoi(count) / 500 + 1 : 40;
  const char* seed = std::getenv("TRELLIS_SEED");
  std::mt19937 random(seed != nullptr ? static_cast<uint32_t>(std::atol(seed)) : 1);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  size_t words = 0, undecided = 0;
  for (int n = 0; n < models; ++n) {
    const TokenizerSpec spec = TyingSpec(random);
    std::vector<std::string> texts(3);
    for (std::string& text : texts) {
      const size_t bytes = below(3) == 0 ? 100000 : 3000;
      while (text.size() < bytes) {
        // Short words come again, so that tables and caches know them.
        const uint32_t most = below(200) == 0 ? 1500 : below(10) == 0 ? 90 : 7;
        for (uint32_t letters = 1 + below(most); letters > 0; --letters) text += "abc"[below(3)];
        if (below(30) == 0) text += 'x';  // unknown
        text += below(20) == 0 ? "  " : " ";
      }
    }
    Compare(spec, texts);
    if (HasFatalFailure()) return;

    // The test is worth something: words have other tokens after other words.
    const Tokenizer plain = Make(spec, {.shortcuts = false});
    for (const std::string& text : texts) {
      const EncodedText tokens = plain.Encode(text).value();
      std::map<std::string, std::set<std::vector<TokenId>>> ways;
      for (size_t begin = 0, token = 0; begin < text.size();) {
        const size_t end = std::min(text.find(' ', begin), text.size());
        std::vector<TokenId> ids;
        while (token < tokens.ids.size() && tokens.offsets[token].end <= end) ids.push_back(tokens.ids[token++]);
        if (end > begin) ways[text.substr(begin, end - begin)].insert(ids);
        begin = end + 1;
      }
      words += ways.size();
      for (const auto& [word, paths] : ways) undecided += paths.size() > 1;
    }
  }
  EXPECT_GT(undecided * 100, words);
}

// The reference shifts its sums when the way it looks at is far enough below zero; a better way that it has not come to
// is then above. Such words must not be taken for near zero: here the words behind tie.
TEST(SentencePiecePaths, AgreeWhereShiftedSumsAreAboveZero) {
  const std::vector<std::string> ties = {"aa", "aaa", "aab", "baa", "abab", "bb", "bbaab", "aa,", "bb,"};
  for (int n = 0; n < 40; ++n) {
    const TokenizerSpec spec = ShiftingSpec(n);
    std::string text;
    // Some 2000 words a shift.
    for (int words = 0; words < 8000; ++words) {
      text += "xyz ";
      text += ties[static_cast<size_t>(words + words / 7 + n) % ties.size()];
      text += ' ';
    }
    Compare(spec, {text});
    if (HasFatalFailure()) return;
  }
}

TEST(SentencePiecePaths, AgreeOnNaturalTexts) {
  const char* folder = std::getenv("TRELLIS_CORPORA");
  if (folder == nullptr) GTEST_SKIP() << "set TRELLIS_CORPORA to a folder of .txt files to run this";
  const auto spec = Model();
  ASSERT_TRUE(spec.ok()) << spec.status();
  std::vector<std::string> texts = NaturalTexts(folder);
  ASSERT_FALSE(texts.empty());
  // Whole books too.
  std::string all;
  for (const std::string& text : texts) all += text + '\n';
  texts.push_back(all);
  Compare(*spec, texts);
}

}  // namespace
}  // namespace trellis
