// What the goldens do not ask of a stream: its end, and starting again. Expected
// texts are Tokenizer::Decode's, which the goldens hold to the reference.
#include "trellis/decode_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/tokenizer/small_specs.h"

namespace trellis {
namespace {

// "<0xE6>" and so on for U+6771, and an "a".
constexpr TokenId kByte1 = 18, kByte2 = 19, kByte3 = 21, kA = 5;

TokenizerSpec BytesSpec() {
  TokenizerSpec spec = SmallSpec();
  for (const char* byte : {"<0xE6>", "<0x9D>"}) spec.model.pieces.push_back({byte, -9.0});
  spec.model.pieces.push_back({"<mask>", 0.0});
  spec.model.pieces.push_back({"<0xB1>", -9.0});
  spec.decoders = {ReplaceDecoder{"\u2581", false, " "}, ByteFallbackDecoder{}, FuseDecoder{}, StripDecoder{" ", 1, 0}};
  return spec;
}

TEST(DecodeStream, HoldsBackUntilACharacterIsWhole) {
  DecodeStream stream(Tokenizer::Create(BytesSpec()).value());
  EXPECT_EQ(stream.Step(kA).value(), "a");
  EXPECT_EQ(stream.Step(kByte1).value(), "");
  EXPECT_EQ(stream.Step(kByte2).value(), "");
  EXPECT_EQ(stream.Step(kByte3).value(), "\u6771");
  EXPECT_EQ(stream.Finish().value(), "");
}

TEST(DecodeStream, FinishGivesTheRestAndBegins) {
  DecodeStream stream(Tokenizer::Create(BytesSpec()).value());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(stream.Step(kA).value(), "a");
    EXPECT_EQ(stream.Step(kByte1).value(), "");
    EXPECT_EQ(stream.Finish().value(), "\uFFFD");
  }
  EXPECT_EQ(stream.Finish().value(), "");
  stream.Step(kByte1).value();
  stream.Reset();
  EXPECT_EQ(stream.Finish().value(), "");
}

TEST(DecodeStream, AllStepsTogetherAreTheText) {
  const Tokenizer tokenizer = Tokenizer::Create(SmallSpec()).value();
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<TokenId> ids(random() % 30);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % 24) - 1;  // also ids of nothing
    for (const bool skip : {false, true}) {
      const DecodeOptions options{.skip_special_tokens = skip};
      DecodeStream stream(tokenizer, options);
      std::string text;
      for (const TokenId id : ids) text += stream.Step(id).value();
      text += stream.Finish().value();
      EXPECT_EQ(text, tokenizer.Decode(ids, options));
    }
  }
}

}  // namespace
}  // namespace trellis
