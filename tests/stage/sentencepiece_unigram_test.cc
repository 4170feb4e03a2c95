#include "trellis/internal/stage/sentencepiece_unigram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <string>
#include <tuple>
#include <vector>

#include "src/trie/trie_builder.h"
#include "tests/stage/sp_stage_rows.h"

namespace trellis::internal {
namespace {

using sp_stage::Bytes;
using sp_stage::Json;
using Token = std::tuple<TokenId, uint32_t, uint32_t>;

struct Model {
  std::vector<Piece> pieces;
  std::vector<float> scores;
  std::vector<TokenId> byte_ids;
  SentencePieceScores view;
  Table<BitmapTrieNode> bitmap;
  Table<DoubleArrayUnit> double_array;

  explicit Model(Json row) : pieces(sp_stage::Pieces(row["pieces"])) {
    float lowest = FLT_MAX;
    std::vector<TrieKey> keys;
    if (bool(row["byte_fallback"])) byte_ids.resize(256);
    TokenId unk_id = kNoPiece;
    for (size_t id = 0; id < pieces.size(); ++id) {
      const Piece& piece = pieces[id];
      const auto token = static_cast<TokenId>(id);
      scores.push_back(static_cast<float>(piece.score));
      if (piece.type == PieceType::kUserDefined) scores.back() = UserDefinedScore(piece.text.size());
      if (piece.type == PieceType::kNormal) lowest = std::min(lowest, scores.back());
      if (piece.type == PieceType::kUnknown) unk_id = token;
      if (piece.type == PieceType::kByte) byte_ids[std::stoul(piece.text.substr(3, 2), nullptr, 16)] = token;
      const bool matched = piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
      if (matched) keys.push_back({piece.text, token, piece.score});
    }
    view = {scores, UnknownScore(lowest), unk_id, byte_ids};
    bitmap = BuildBitmapTrie(keys, PageSize::kDefault);
    double_array = BuildDoubleArrayTrie(keys, PageSize::kDefault);
  }
};

template <typename Trie>
std::vector<Token> Tokens(const Model& model, const Trie& trie, std::string_view text,
                          std::span<const uint32_t> alignment = {}) {
  std::vector<SentencePieceNode> nodes(text.size() + 1);
  RunSentencePieceUnigram(trie, model.view, text, nodes);
  std::vector<Token> tokens;
  ForEachSentencePieceToken(model.view, text, nodes, alignment,
                            [&](TokenId id, uint32_t begin, uint32_t end) { tokens.emplace_back(id, begin, end); });
  return tokens;
}

// Small vocabularies whose scores tie, round, run far from zero, lie above
// it, hang on the price of the unknown, with user-defined, unused and byte pieces.
TEST(SentencePieceUnigram, MatchesReference) {
  size_t cases = 0;
  const size_t rows = sp_stage::ForEachRow("lattice", [&](Json row) {
    const Model model(row);
    for (const Json golden : simdjson::dom::array(row["cases"])) {
      const std::string source = Bytes(golden.at(0));
      const std::vector<char> copy(source.begin(), source.end());
      const std::string_view text(copy.data(), copy.size());
      const std::vector<uint32_t> alignment = sp_stage::Numbers<uint32_t>(golden.at(1));
      const std::vector<TokenId> ids = sp_stage::Numbers<TokenId>(golden.at(2));
      std::vector<Token> want;
      for (const Json range : simdjson::dom::array(golden.at(3))) {
        const std::vector<uint32_t> ends = sp_stage::Numbers<uint32_t>(range);
        want.emplace_back(ids.at(want.size()), ends.at(0), ends.at(1));
      }
      EXPECT_EQ(Tokens(model, BitmapTrie(model.bitmap.span()), text, alignment), want) << source;
      EXPECT_EQ(Tokens(model, DoubleArrayTrie(model.double_array.span()), text, alignment), want) << source;
      ++cases;
    }
  });
  EXPECT_EQ(rows, 42u);
  EXPECT_EQ(cases, 420u);
}

TEST(SentencePieceUnigram, EmptyTextHasNoTokens) {
  sp_stage::ForEachRow("lattice", [](Json row) {
    const Model model(row);
    EXPECT_TRUE(Tokens(model, BitmapTrie(model.bitmap.span()), "").empty());
  });
}

// Malformed bytes step by their first byte alone and never beyond the end.
TEST(SentencePieceUnigram, TokensCoverAnyBytes) {
  sp_stage::ForEachRow("lattice", [](Json row) {
    const Model model(row);
    for (const std::string_view bytes : {"\xF0", "a\xE2", "\xC3\xF0\x9F", "\xFF\xFF", "\x80 a\x80", "b\xF0\x9F\x98"}) {
      const std::vector<char> copy(bytes.begin(), bytes.end());
      uint32_t end = 0;
      for (const auto& [id, first, last] : Tokens(model, BitmapTrie(model.bitmap.span()), {copy.data(), copy.size()})) {
        EXPECT_LE(first, last);
        EXPECT_TRUE(first == end || !model.byte_ids.empty()) << bytes;
        end = last;
      }
      EXPECT_EQ(end, bytes.size());
    }
  });
}

}  // namespace
}  // namespace trellis::internal
