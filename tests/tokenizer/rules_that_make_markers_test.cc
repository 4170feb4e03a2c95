// Rules whose replacements hold U+2581 where a word is cut: behind its start, alone, and beside a blank. A
// word that such a rule cuts was once taken for one pre-token by the path with shortcuts (found by
// pipeline_fuzz).
//
// Expected: tokenizers 0.22.2, Tokenizer.from_str of the same pieces, rules and pre-tokenizers, then
// encode(text, add_special_tokens=False): ids and offsets, which are of characters and here of bytes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/reference/small_charsmap.h"
#include "trellis/internal/compiled.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

enum Shape { kWords, kWordsNotSplit, kMarkers };

TokenizerSpec Spec(Shape shape) {
  TokenizerSpec spec;
  spec.model.pieces = {{"<unk>", 0.0},     {"\u2581", -2.0},      {"b", -3.0}, {"c", -3.0},
                       {"\u2581b", -3.5},  {"\u2581c", -3.5},     {"x", -4.0}, {"bc", -4.0},
                       {"b\u2581c", -1.0}, {"\u2581\u2581", -1.0}};
  spec.model.unk_id = 0;
  spec.normalizers = {PrecompiledNormalizer{
      reference::SmallCharsmap::Of({{"a", "b\u2581c"}, {".", "\u2581"}, {"+", "c d"}})}};
  if (shape != kMarkers) spec.pre_tokenizers = {WhitespaceSplitPreTokenizer{}};
  spec.pre_tokenizers.push_back(
      MetaspacePreTokenizer{"\u2581", PrependScheme::kAlways, shape != kWordsNotSplit});
  return spec;
}

TEST(RulesThatMakeMarkers, CutWordsAsTheReferenceDoes) {
  const struct {
    Shape shape;
    std::string text;
    std::vector<TokenId> ids;
    std::vector<Offset> offsets;
  } rows[] = {
      {kWords, "a", {4, 5}, {{0, 1}, {0, 1}}},
      {kWords, " a", {4, 5}, {{1, 2}, {1, 2}}},
      {kWords, "xa", {1, 6, 2, 5}, {{0, 1}, {0, 1}, {1, 2}, {1, 2}}},
      {kWords,
       "aa xa",
       {4, 5, 2, 5, 1, 6, 2, 5},
       {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {3, 4}, {3, 4}, {4, 5}, {4, 5}}},
      {kWords, "x.x ..x", {1, 6, 1, 6, 1, 1, 6}, {{0, 1}, {0, 1}, {1, 2}, {2, 3}, {4, 5}, {5, 6}, {6, 7}}},
      {kWords, "x+ a", {1, 6, 3, 1, 0, 4, 5}, {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}, {3, 4}, {3, 4}}},
      {kWordsNotSplit, "a", {1, 8}, {{0, 1}, {0, 1}}},
      {kWordsNotSplit, " a", {1, 8}, {{1, 2}, {1, 2}}},
      {kWordsNotSplit, "xa", {1, 6, 8}, {{0, 1}, {0, 1}, {1, 2}}},
      {kWordsNotSplit, "aa xa", {1, 8, 8, 1, 6, 8}, {{0, 1}, {0, 1}, {1, 2}, {3, 4}, {3, 4}, {4, 5}}},
      {kWordsNotSplit, "x.x ..x", {1, 6, 1, 6, 9, 6}, {{0, 1}, {0, 1}, {1, 2}, {2, 3}, {4, 6}, {6, 7}}},
      {kWordsNotSplit,
       "x+ a",
       {1, 6, 3, 1, 0, 1, 8},
       {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}, {3, 4}, {3, 4}}},
      {kMarkers, "a", {4, 5}, {{0, 1}, {0, 1}}},
      {kMarkers, " a", {4, 5}, {{0, 2}, {1, 2}}},
      {kMarkers, "xa", {1, 6, 2, 5}, {{0, 1}, {0, 1}, {1, 2}, {1, 2}}},
      {kMarkers,
       "aa xa",
       {4, 5, 2, 5, 1, 6, 2, 5},
       {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {4, 5}}},
      {kMarkers,
       "x.x ..x",
       {1, 6, 1, 6, 1, 1, 1, 6},
       {{0, 1}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}},
      {kMarkers, "x+ a", {1, 6, 3, 1, 0, 4, 5}, {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 4}, {3, 4}}},
  };
  for (const auto& row : rows) {
    const TokenizerSpec spec = Spec(row.shape);
    const Tokenizer fast = Tokenizer::Create(spec).value();
    ASSERT_TRUE(fast.Facts().front().value.starts_with("words")) << fast.Facts().front().value;
    const Tokenizer plain = Tokenizer::Create(spec, {.shortcuts = false}).value();
    const Tokenizer compiled =
        internal::TokenizerOfCompiledBytes(internal::CompiledBytes(spec).value()).value();
    for (const Tokenizer* tokenizer : {&fast, &plain, &compiled}) {
      SCOPED_TRACE(testing::Message()
                   << "shape " << row.shape << (tokenizer == &plain ? ", plain: " : ": ") << row.text);
      const auto got = tokenizer->Encode(Input{row.text}, {.add_special_tokens = false});
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(got->ids, row.ids);
      EXPECT_EQ(got->offsets, row.offsets);
    }
  }
}

}  // namespace
}  // namespace trellis
