// AddTokens, as tokenizers 0.22.2's add_tokens called once or again; expected
// values are the wheel's.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trellis/internal/explain.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

TokenizerSpec Spec() {
  TokenizerSpec spec;
  spec.model.pieces = {{"<unk>", 0.0}, {"a", -1.0}, {"b", -1.5}, {"\u2581", -2.0}, {"new", -3.0}};
  spec.model.unk_id = 0;
  spec.pre_tokenizers = {MetaspacePreTokenizer{}};
  return spec;
}

AddedToken Token(const std::string& content, bool normalized) {
  AddedToken token;
  token.content = content;
  token.id = 12345;  // AddTokens does not look at it
  token.normalized = normalized;
  return token;
}

TEST(AddTokens, IdsAreThoseOfPiecesOrCountedOn) {
  TokenizerSpec spec = Spec();
  AddedToken special = Token("x y", false);
  special.special = true;
  AddTokens({Token("new", true), Token("tool", true), special, Token("", true), Token("tool", true)}, spec);
  ASSERT_EQ(spec.added_tokens.size(), 3u);
  EXPECT_EQ(spec.added_tokens[0].id, 4);
  EXPECT_EQ(spec.added_tokens[1].id, 5);
  EXPECT_EQ(spec.added_tokens[2].id, 6);
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
}

TEST(AddTokens, AgainChangesFlagsAndCountsOn) {
  TokenizerSpec spec = Spec();
  AddedToken special = Token("x y", false);
  special.special = true;
  AddTokens({Token("new", true), Token("tool", true), special}, spec);
  AddedToken tool = Token("tool", false), word = Token("new", false);
  tool.special = tool.lstrip = true;
  word.single_word = true;
  AddTokens({tool, Token("z", false), word}, spec);

  const auto tokenizer = Tokenizer::Create(spec);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  struct Case {
    std::string text;
    std::vector<TokenId> ids;
    std::vector<Offset> offsets;
  };
  const std::vector<Case> cases = {
      {"a tool b", {3, 1, 5, 3, 2}, {{0, 1}, {0, 1}, {1, 6}, {6, 7}, {7, 8}}},
      {"newb new", {3, 4, 2, 3, 4}, {{0, 1}, {0, 3}, {3, 4}, {4, 5}, {5, 8}}},
      {"x y z", {6, 3, 7}, {{0, 3}, {3, 4}, {4, 5}}},
      {" tool", {5}, {{0, 5}}},
  };
  for (const Case& c : cases) {
    const auto encoded = tokenizer->Encode(Input{c.text}, {.add_special_tokens = false});
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    EXPECT_EQ(encoded->ids, c.ids) << c.text;
    EXPECT_EQ(encoded->offsets, c.offsets) << c.text;
  }
  EXPECT_TRUE(tokenizer->vocab().IsSpecial(5));
  EXPECT_FALSE(tokenizer->vocab().IsSpecial(7));
}

// Pieces of the plain path, part by part, beside what the shortcuts or the plain path encode.
// Parts of one letter, and steps that each take whole lines of scratch for a part: kept until the end, they are more than
// there is.
TEST(AddTokens, ExplainSaysTheSameOfTextsThatTheyCutOften) {
  TokenizerSpec spec = Spec();
  spec.pre_tokenizers.assign(12, WhitespaceSplitPreTokenizer{});
  AddTokens({Token("x", true)}, spec);
  const auto tokenizer = Tokenizer::Create(spec);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "ax";
  const auto explained = internal::Explain(*tokenizer, text, {.add_special_tokens = false});
  ASSERT_TRUE(explained.ok()) << explained.status();
  std::vector<TokenId> ids;
  for (const auto& piece : explained->pieces) ids.push_back(piece.id);
  EXPECT_EQ(ids, explained->tokens.ids);
  EXPECT_EQ(explained->pre_tokens.size(), 2 * 3000u);
}

}  // namespace
}  // namespace trellis
