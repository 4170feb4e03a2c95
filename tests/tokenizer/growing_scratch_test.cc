// Long chains of normalizers: the worst case of each stage after that of the one
// before is more memory than there is, and what texts take is not.
#include "trellis/growing_scratch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tokenizer/small_specs.h"
#include "trellis/decode_stream.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

TokenizerSpec LongChain() {
  TokenizerSpec spec = SmallSpec();
  spec.normalizers = {UnicodeNormalizer{UnicodeForm::kNfkd}, StripAccentsNormalizer{}, LowercaseNormalizer{},
                      UnicodeNormalizer{UnicodeForm::kNfkc}, NmtNormalizer{}};
  return spec;
}

std::string Repeat(std::string_view text, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

std::vector<TokenId> WithAllScratch(const Tokenizer& tokenizer, std::string_view text) {
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(text.size()));
  std::vector<TokenId> ids(tokenizer.MaxTokens(text.size()));
  const auto encoding = tokenizer.Encode(Input{text}, {}, scratch, {.ids = ids});
  EXPECT_TRUE(encoding.ok()) << encoding.status();
  ids.resize(encoding.ok() ? encoding->ids.size() : 0);
  return ids;
}

// Letters that stay, that grow threefold (U+FDFA: eighteen letters), and bytes that are none.
const std::string kTexts[] = {"abc ab.c \u00e9\u6771 ", "\ufdfa", "\xff\xfe", ""};

TEST(GrowingScratch, IdsAreThoseOfAllTheScratch) {
  const Tokenizer tokenizer = Tokenizer::Create(LongChain()).value();
  for (const std::string& text : kTexts) {
    const std::string input = text.empty() ? text : Repeat(text, 3000);
    const auto encoding = tokenizer.Encode(input);
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    EXPECT_EQ(encoding->ids, WithAllScratch(tokenizer, input));
  }
}

TEST(GrowingScratch, ALongTextTakesWhatItNeeds) {
  const Tokenizer tokenizer = Tokenizer::Create(LongChain()).value();
  const std::string text = Repeat(kTexts[0], 8 << 20);
  ASSERT_GT(tokenizer.ScratchBytes(text.size()), size_t{16} << 30);  // or this shows nothing
  Scratch scratch;
  std::vector<TokenId> ids(text.size());
  const auto encoding = WithGrowingScratch(tokenizer, text.size(), scratch,
                                           [&] { return tokenizer.Encode(Input{text}, {}, scratch, {.ids = ids}); });
  ASSERT_TRUE(encoding.ok()) << encoding.status();
  EXPECT_LT(scratch.capacity(), size_t{4} << 30);
  EXPECT_TRUE(tokenizer.Encode(text).ok());
  EXPECT_TRUE(tokenizer.EncodeWindows(Input{text}, {.truncate = Truncate::kLongestFirst, .max_length = 512}).ok());
}

// Bounds of many stages that each may grow a text end where no machine goes on, and do not wrap around.
TEST(GrowingScratch, AnyNumberOfStagesThatGrow) {
  TokenizerSpec spec = SmallSpec();
  for (int i = 0; i < 20; ++i) {
    spec.normalizers.push_back(ReplaceNormalizer{std::string(1, static_cast<char>('A' + i)), false, " :name_of_it: "});
  }
  for (int i = 0; i < 24; ++i) spec.normalizers.push_back(UnicodeNormalizer{UnicodeForm::kNfkd});
  spec.decoders = {};
  for (int i = 0; i < 40; ++i) spec.decoders.push_back(ReplaceDecoder{"zz", false, std::string(12, 'z')});
  const Tokenizer tokenizer = Tokenizer::Create(spec).value();
  const Tokenizer plain = Tokenizer::Create(SmallSpec()).value();
  for (const EncodeOptions& options :
       {EncodeOptions{}, EncodeOptions{.truncate = Truncate::kLongestFirst, .max_length = 100}}) {
    const auto encoding = tokenizer.Encode(Input{"ab ab.", "c"}, options);
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    EXPECT_EQ(encoding->ids, plain.Encode(Input{"ab ab.", "c"}, options)->ids);
    EXPECT_TRUE(tokenizer.EncodeWindows(Input{"ab ab."}, options).ok());
  }
  const std::vector<TokenId> ids = {9, 10};
  EXPECT_EQ(tokenizer.Decode(ids), "\u2581abab");
  DecodeStream stream(tokenizer, {});
  EXPECT_EQ(stream.Step(9).value(), "\u2581ab");
  EXPECT_EQ(stream.Step(10).value(), "ab");
}

TEST(GrowingScratch, TheBufferIsTheCallers) {
  const Tokenizer tokenizer = Tokenizer::Create(LongChain()).value();
  Scratch scratch;
  std::vector<TokenId> ids(4);
  const std::string text = Repeat("abc ", 100);
  const auto call = [&] { return tokenizer.Encode(Input{text}, {}, scratch, {.ids = ids}); };
  EXPECT_TRUE(absl::IsResourceExhausted(WithGrowingScratch(tokenizer, text.size(), scratch, call).status()));
  const size_t capacity = scratch.capacity();
  EXPECT_TRUE(absl::IsResourceExhausted(WithGrowingScratch(tokenizer, text.size(), scratch, call).status()));
  EXPECT_EQ(scratch.capacity(), capacity);
  ids.resize(200);
  EXPECT_TRUE(WithGrowingScratch(tokenizer, text.size(), scratch, call).ok());
}

}  // namespace
}  // namespace trellis
