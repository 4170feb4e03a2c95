#include "trellis/internal/stage/sentencepiece_normalizer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "src/trie/trie_builder.h"
#include "tests/stage/sp_stage_rows.h"

namespace trellis::internal {
namespace {

using sp_stage::Bytes;
using sp_stage::Json;

struct Rules {
  SentencePieceBlanks blanks;
  std::vector<std::string> user_defined;
  Table<BitmapTrieNode> nodes;
  std::optional<BitmapTrie> trie;
  std::optional<SentencePieceRewriter> rewriter;

  explicit Rules(Json row) {
    blanks = {bool(row["add_dummy_prefix"]), bool(row["remove_extra_whitespaces"]), bool(row["escape_whitespaces"]),
              bool(row["treat_whitespace_as_suffix"])};
    for (const Json symbol : simdjson::dom::array(row["user_defined"])) user_defined.push_back(Bytes(symbol));
    std::vector<TrieKey> keys;
    for (const std::string& symbol : user_defined) keys.push_back({symbol, static_cast<int32_t>(keys.size())});
    nodes = BuildBitmapTrie(keys, PageSize::kDefault);
    trie.emplace(nodes.span());
    const std::string charsmap = Bytes(row["charsmap"]);
    EXPECT_EQ(CharsMap::Check(charsmap), std::nullopt);
    rewriter.emplace(CharsMap(charsmap), &*trie);
  }
};

// Every combination of the four flags; the text lies in memory of its own, so
// that a sanitizer sees a read beyond it.
TEST(SentencePieceNormalizer, MatchesReference) {
  size_t cases = 0;
  const size_t rows = sp_stage::ForEachRow("normalizer", [&](Json row) {
    const Rules rules(row);
    for (const Json golden : simdjson::dom::array(row["cases"])) {
      const std::string source = Bytes(golden.at(0));
      const std::vector<char> text(source.begin(), source.end());
      const std::string want = Bytes(golden.at(1));
      const size_t most = MaxNormalizedBytes(*rules.rewriter, text.size());
      std::vector<char> bytes(most);
      std::vector<uint32_t> alignment(most + 1);
      const std::optional<size_t> size = NormalizeSentencePiece(
          *rules.rewriter, rules.blanks, {text.data(), text.size()}, {.bytes = bytes, .alignment = alignment});
      ASSERT_TRUE(size.has_value());
      ASSERT_EQ(std::string(bytes.data(), *size), want) << "of \"" << source << "\"";
      if (!want.empty()) {
        alignment.resize(*size + 1);
        ASSERT_EQ(alignment, sp_stage::Numbers<uint32_t>(golden.at(2))) << "of \"" << source << "\"";
      }
      // Without alignment the same; with less room than the result an error.
      EXPECT_EQ(NormalizeSentencePiece(*rules.rewriter, rules.blanks, source, {.bytes = bytes}), size);
      EXPECT_EQ(std::string(bytes.data(), *size), want);
      if (*size > 0) {
        const std::span<char> less = std::span(bytes).first(*size - 1);
        EXPECT_EQ(NormalizeSentencePiece(*rules.rewriter, rules.blanks, source, {.bytes = less}), std::nullopt);
      }
      ++cases;
    }
  });
  EXPECT_EQ(rows, 16u);
  EXPECT_GT(cases, 1000u);
}

TEST(SentencePieceNormalizer, AlignmentRisesAndStaysInside) {
  sp_stage::ForEachRow("normalizer", [](Json row) {
    const Rules rules(row);
    std::string text;
    for (const Json golden : simdjson::dom::array(row["cases"])) text += Bytes(golden.at(0));
    std::vector<char> bytes(MaxNormalizedBytes(*rules.rewriter, text.size()));
    std::vector<uint32_t> alignment(bytes.size() + 1);
    const std::optional<size_t> size =
        NormalizeSentencePiece(*rules.rewriter, rules.blanks, text, {.bytes = bytes, .alignment = alignment});
    ASSERT_TRUE(size.has_value());
    for (size_t i = 0; i < *size; ++i) ASSERT_LE(alignment[i], alignment[i + 1]) << i;
    EXPECT_LE(alignment[*size], text.size());
  });
}

}  // namespace
}  // namespace trellis::internal
