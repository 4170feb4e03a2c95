// Chains of decoders; whole texts are in tests/golden/pipelines.jsonl. Expected
// values are what tokenizers 0.22.2's decoders give (decoders.Sequence(...).decode).
#include "trellis/internal/stage/decoder_chain.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace trellis::internal {
namespace {

using Tokens = std::vector<std::string>;

// nullopt: no room, or refused; `result` says which.
std::optional<std::string> Decode(const std::vector<Decoder>& decoders, const Tokens& tokens, size_t room,
                                  DecodeResult* result = nullptr) {
  const DecoderChain chain(decoders);
  std::string memory(room, '#');
  TokenList list(memory);
  for (const std::string& token : tokens) {
    if (!list.Put(token)) return std::nullopt;
  }
  const DecodeResult ran = chain.Run(list);
  if (result != nullptr) *result = ran;
  if (ran != DecodeResult::kOk) return std::nullopt;
  return std::string(list.Join());
}

// With the memory that the chain says is enough, and not a byte written beyond.
std::string Decoded(const std::vector<Decoder>& decoders, const Tokens& tokens) {
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  return Decode(decoders, tokens, DecoderChain(decoders).ListBytes(bytes, tokens.size())).value_or("(no room)");
}

const Decoder kBytes = ByteFallbackDecoder{}, kFuse = FuseDecoder{};
Decoder Replace(const char* pattern, const char* content) { return ReplaceDecoder{pattern, false, content}; }
Decoder ReplaceRegex(const char* pattern, const char* content) { return ReplaceDecoder{pattern, true, content}; }

TEST(DecoderChain, BytesAreReadByRuns) {
  EXPECT_EQ(Decoded({kBytes}, {"<0xE5>", "<0x8f>", "<0xab>", "a"}), "\u53eba");
  EXPECT_EQ(Decoded({kBytes}, {"<0xE5>", "<0x8f>", "a"}), "\uFFFD\uFFFDa");
  EXPECT_EQ(Decoded({kBytes}, {"<0x61>", "<0xE5>", "b"}), "\uFFFD\uFFFDb") << "the whole run is spoiled";
  EXPECT_EQ(Decoded({kBytes}, {"<0x+9>", "<0xG0>", "<0x4>", "<0x411"}), "\t<0xG0><0x4><0x411");
  EXPECT_EQ(Decoded({kFuse, kBytes}, {"<0x4", "1>"}), "A");
}

TEST(DecoderChain, ReplaceSeesOneTokenAtATime) {
  EXPECT_EQ(Decoded({Replace("ab", "x")}, {"a", "b", "abab", "aab"}), "abxxax");
  EXPECT_EQ(Decoded({kFuse, Replace("ab", "x")}, {"a", "b", "abab"}), "xxx");
  EXPECT_EQ(Decoded({Replace("a", "longer"), Replace("o", "ooo")}, {"a", "aa"}), "looongerlooongerlooonger");
  EXPECT_EQ(Decoded({Replace("a", "")}, {"a", "", "aa"}), "");
}

TEST(DecoderChain, ReplaceByRegularExpression) {
  EXPECT_EQ(Decoded({ReplaceRegex("[0-9]+", "#")}, {"a12", "3b", "45", "6", "c"}), "a##b##c");
  EXPECT_EQ(Decoded({kFuse, ReplaceRegex("[0-9]+", "#")}, {"a12", "3b"}), "a#b");
  EXPECT_EQ(Decoded({ReplaceRegex("a|ab", "xyz")}, {"ab", "ba"}), "xyzbbxyz");
  EXPECT_EQ(Decoded({ReplaceRegex("\\s+", "")}, {"\u3000a ", " b"}), "ab");
}

TEST(DecoderChain, StripCountsFromBothEnds) {
  EXPECT_EQ(Decoded({StripDecoder{"_", 1, 0}}, {"__a_", "_", ""}), "_a_");
  EXPECT_EQ(Decoded({StripDecoder{"_", 0, 1}}, {"_a__", "b"}), "_a_b");
  EXPECT_EQ(Decoded({StripDecoder{"\u2581", 2, 2}}, {"\u2581\u2581\u2581a\u2581\u2581\u2581"}), "\u2581a\u2581");
  // The reference panics.
  for (const char* token : {"", "_"}) {
    DecodeResult result = DecodeResult::kOk;
    Decode({StripDecoder{"_", 0, 2}}, {token}, 100, &result);
    EXPECT_EQ(result, DecodeResult::kOverstripped) << token;
  }
  DecodeResult result = DecodeResult::kOk;
  Decode({StripDecoder{"_", 1, 1}}, {"_"}, 100, &result);
  EXPECT_EQ(result, DecodeResult::kOverstripped);
}

TEST(DecoderChain, WordPieceAndMetaspace) {
  EXPECT_EQ(Decoded({WordPieceDecoder{"##", true}}, {"##a", "##b", "c", ".", "do", "not", "'", "s"}),
            "##ab c. do not ' s");
  EXPECT_EQ(Decoded({WordPieceDecoder{"##", false}}, {"a", "."}), "a .");
  EXPECT_EQ(Decoded({kBytes, MetaspaceDecoder{}}, {"\u2581a", "\u2581b"}), "a b");
  EXPECT_EQ(Decoded({kFuse, MetaspaceDecoder{}}, {"\u2581a", "\u2581b"}), "ab") << "one token, the first";
}

TEST(DecoderChain, NothingIn) {
  EXPECT_EQ(Decoded({kFuse}, {}), "");
  EXPECT_EQ(Decoded({kBytes, kFuse, StripDecoder{" ", 1, 0}}, {}), "");
}

// Whatever the room, the answer is right or there is none; sanitizers see the rest.
TEST(DecoderChain, AnyRoom) {
  const std::vector<Decoder> chain = {Replace("a", "<0x41>bc"), kBytes, kFuse, Replace("b", "dddd"),
                                      StripDecoder{"<", 1, 0}};
  const Tokens tokens = {"a", "<0x41>", "xa", "", "<0xFF>"};
  const std::string want = Decoded(chain, tokens);
  EXPECT_EQ(want, "0x41>ddddcAx<0x41>ddddc\uFFFD");
  size_t answers = 0;
  for (size_t room = 0; room < 200; ++room) {
    const std::optional<std::string> got = Decode(chain, tokens, room);
    if (got.has_value()) {
      EXPECT_EQ(*got, want);
      ++answers;
    }
  }
  EXPECT_GT(answers, 50u);
  EXPECT_LT(answers, 180u);
}

std::string Cleaned(CleanUpRules rules, std::string text) {
  text.resize(CleanUp(rules, text));
  return text;
}

// transformers 5.24, clean_up_tokenization, and the WordPiece decoder's cleanup.
TEST(DecoderChain, CleanUp) {
  EXPECT_EQ(Cleaned(CleanUpRules::kTransformers, "I do n't know , do I ? No ! it 's we 've we 're I 'm a ' b ."),
            "I don't know, do I? No! it's we've we're I'm a'b.");
  EXPECT_EQ(Cleaned(CleanUpRules::kTransformers, "I do not . ."), "I do not..");
  EXPECT_EQ(Cleaned(CleanUpRules::kTokenizers, "I do not . ."), "I don't..");
  EXPECT_EQ(Cleaned(CleanUpRules::kTransformers, ""), "");
}

}  // namespace
}  // namespace trellis::internal
