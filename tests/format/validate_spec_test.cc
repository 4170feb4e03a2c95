// Each thing that ValidateSpec refuses, one at a time, from a spec that it takes.
#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "gtest/gtest.h"
#include "trellis/spec.h"

namespace trellis {
namespace {

// A double array of one unit without children, and no replacement.
const std::string kCharsmap("\4\0\0\0\0\0\0\0", 8);

TokenizerSpec HuggingFace() {
  TokenizerSpec spec;
  spec.model.pieces = {{"<unk>", 0.0}, {"a", -1.0}, {"\u2581", -2.0}};
  spec.model.unk_id = 0;
  spec.added_tokens = {{.content = "<unk>", .id = 0, .special = true},
                       {.content = "<mask>", .id = 3, .lstrip = true}};
  spec.normalizers = {PrecompiledNormalizer{kCharsmap}, ReplaceNormalizer{" {2,}", true, " "},
                      ReplaceNormalizer{"``", false, ""}};
  spec.pre_tokenizers = {WhitespaceSplitPreTokenizer{}, MetaspacePreTokenizer{}};
  spec.post_processor.single = {TemplateSpecial{{3}, "<mask>", 0}, TemplateSequence{Sequence::kA, 0}};
  spec.decoders = {MetaspaceDecoder{}};
  return spec;
}

TokenizerSpec SentencePiece() {
  TokenizerSpec spec;
  spec.dialect = Dialect::kSentencePiece;
  spec.model.pieces = {{"<unk>", 0.0, PieceType::kUnknown}, {"<s>", 0.0, PieceType::kControl}, {"a", -1.0}};
  spec.model.unk_id = 0;
  spec.normalizers = {SentencePieceNormalizer{}};
  spec.decoders = {SentencePieceDecoder{}};
  return spec;
}

std::string Invalid(const TokenizerSpec& spec) {
  const absl::Status status = ValidateSpec(spec);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

std::string NotSupported(const TokenizerSpec& spec) {
  const absl::Status status = ValidateSpec(spec);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  return std::string(status.message());
}

TEST(ValidateSpecTest, TakesSoundSpecs) {
  EXPECT_TRUE(ValidateSpec(HuggingFace()).ok()) << ValidateSpec(HuggingFace());
  EXPECT_TRUE(ValidateSpec(SentencePiece()).ok()) << ValidateSpec(SentencePiece());
  TokenizerSpec spec = HuggingFace();
  spec.model.unk_id.reset();
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  spec = TokenizerSpec{};
  spec.model.pieces = {{"a", -1.0}, {"", -1.0}, {"a", 3.0}};  // as in files that tokenizers loads
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
}

TEST(ValidateSpecTest, Scores) {
  for (const auto& [score, shown] :
       {std::pair(std::nan(""), "nan"), std::pair(std::numeric_limits<double>::infinity(), "inf"),
        std::pair(-std::numeric_limits<double>::infinity(), "-inf")}) {
    TokenizerSpec spec = HuggingFace();
    spec.model.pieces[1].score = score;
    EXPECT_EQ(Invalid(spec), "model.pieces[1].score: " + std::string(shown) + ", expected a finite number");
  }
}

TEST(ValidateSpecTest, Pieces) {
  TokenizerSpec spec = HuggingFace();
  spec.model.pieces[2].type = PieceType::kControl;
  EXPECT_EQ(Invalid(spec), "model.pieces[2].type: 2, expected kNormal (0) in the Hugging Face dialect");
  spec = TokenizerSpec{};
  EXPECT_EQ(Invalid(spec), "model.pieces: empty, expected at least one piece");
}

TEST(ValidateSpecTest, UnkId) {
  TokenizerSpec spec = HuggingFace();
  spec.model.unk_id = 3;  // an added token is no piece
  EXPECT_EQ(Invalid(spec), "model.unk_id: 3, expected an id below 3");
  spec.model.unk_id = -1;
  EXPECT_EQ(Invalid(spec), "model.unk_id: -1, expected an id below 3");
}

TEST(ValidateSpecTest, AddedTokenContents) {
  TokenizerSpec spec = HuggingFace();
  spec.added_tokens[1].content = "";
  EXPECT_EQ(Invalid(spec), "added_tokens[1].content: empty, expected a string to match");
  spec.added_tokens[1].content = "\xC3";
  EXPECT_EQ(Invalid(spec), "added_tokens[1].content: malformed UTF-8, expected well-formed UTF-8");
  spec.added_tokens[1].content = "x\uFFFD";
  EXPECT_EQ(NotSupported(spec),
            "added_tokens[1].content: \"x\uFFFD\" is not supported yet, expected no U+FFFD in it");
  spec.added_tokens[1] = {.content = "<unk>", .id = 4};
  EXPECT_EQ(Invalid(spec), "added_tokens[1].content: \"<unk>\", expected each content once");
}

TEST(ValidateSpecTest, AddedTokenIds) {
  TokenizerSpec spec = HuggingFace();
  spec.added_tokens[1].id = -1;
  EXPECT_EQ(Invalid(spec), "added_tokens[1].id: -1, expected an id below 16777216");
  spec.added_tokens[1].id = 16777216;
  EXPECT_EQ(Invalid(spec), "added_tokens[1].id: 16777216, expected an id below 16777216");
  spec.added_tokens[1].id = 1;
  EXPECT_EQ(Invalid(spec),
            "added_tokens[1].id: 1 (\"<mask>\"), expected another id: this is the piece \"a\"");
  spec.added_tokens[1].id = 3;
  spec.added_tokens.push_back({.content = "x", .id = 3});
  EXPECT_EQ(Invalid(spec), "added_tokens[2].id: 3, expected each id once");
}

TEST(ValidateSpecTest, AddedTokenFlags) {
  TokenizerSpec spec = HuggingFace();
  spec.added_tokens[1].single_word = true;
  spec.added_tokens[1].normalized = true;
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  // Once as it stands and once normalized, but no third time.
  AddedToken again = spec.added_tokens[1];
  again.normalized = false;
  spec.added_tokens.push_back(again);
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  spec.added_tokens.push_back(again);
  EXPECT_EQ(Invalid(spec), "added_tokens[3].content: \"<mask>\", expected each content once");
}

TEST(ValidateSpecTest, NormalizedTokensAreNotNormalizedAway) {
  TokenizerSpec spec = HuggingFace();
  spec.normalizers = {StripNormalizer{}};
  spec.added_tokens[1].content = "  ";
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  spec.added_tokens[1].normalized = true;
  EXPECT_EQ(Invalid(spec),
            "added_tokens[1].content: \"  \", expected something that the normalizers do not take away, since it is "
            "matched normalized");
}

TEST(ValidateSpecTest, Charsmaps) {
  TokenizerSpec spec = HuggingFace();
  for (const std::string& charsmap :
       {std::string(), std::string("\1\0", 2), std::string("\x08\0\0\0\0\0\0\0", 8),
        std::string("\4\0\0\0\0\0\0\0\xC3", 9)}) {
    spec.normalizers[0] = PrecompiledNormalizer{charsmap};
    EXPECT_EQ(Invalid(spec).rfind("normalizers[0].charsmap: ", 0), 0u) << Invalid(spec);
  }
  spec = SentencePiece();  // where an empty one is the identity
  spec.normalizers = {SentencePieceNormalizer{.charsmap = "abc"}};
  EXPECT_EQ(Invalid(spec).rfind("normalizers[0].charsmap: ", 0), 0u) << Invalid(spec);
  spec = SentencePiece();
  spec.decoders = {SentencePieceDecoder{"abc"}};
  EXPECT_EQ(Invalid(spec).rfind("decoders[0].denormalizer_charsmap: ", 0), 0u) << Invalid(spec);
}

TEST(ValidateSpecTest, Replace) {
  TokenizerSpec spec = HuggingFace();
  spec.normalizers = {ReplaceNormalizer{"a|b", true, ""}};
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  spec.normalizers = {ReplaceNormalizer{"a*", true, ""}};
  EXPECT_EQ(NotSupported(spec),
            "normalizers[0].pattern: \"a*\": what can match nothing is not supported in a regular expression "
            "(Oniguruma's syntax, run by RE2)");
  spec.normalizers = {ReplaceNormalizer{"", false, "x"}};
  EXPECT_EQ(NotSupported(spec),
            "normalizers[0].pattern: \"\" is not supported yet, expected a string to look for");
  spec.normalizers = {ReplaceNormalizer{"\uFFFD", false, "x"}};
  EXPECT_EQ(NotSupported(spec),
            "normalizers[0].pattern: \"\uFFFD\" is not supported yet, expected no U+FFFD in it");
  spec.normalizers = {ReplaceNormalizer{"\x80", false, "x"}};
  EXPECT_EQ(Invalid(spec), "normalizers[0].pattern: malformed UTF-8, expected well-formed UTF-8");
  spec.normalizers = {ReplaceNormalizer{"x", false, "\x80"}};
  EXPECT_EQ(Invalid(spec), "normalizers[0].content: malformed UTF-8, expected well-formed UTF-8");
}

TEST(ValidateSpecTest, ReplaceDecoder) {
  TokenizerSpec spec = HuggingFace();
  spec.decoders = {ReplaceDecoder{"a|b", true, ""}};
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  // Tokens are well formed, so this is no more than a string here.
  spec.decoders = {ReplaceDecoder{"\uFFFD", false, ""}};
  EXPECT_TRUE(ValidateSpec(spec).ok()) << ValidateSpec(spec);
  spec.decoders = {ReplaceDecoder{"(?=a)", true, ""}};
  EXPECT_EQ(NotSupported(spec),
            "decoders[0].pattern: \"(?=a)\": a group beginning with \"(?\" is not supported in a regular expression "
            "(Oniguruma's syntax, run by RE2)");
  spec.decoders = {ReplaceDecoder{"", false, "x"}};
  EXPECT_EQ(NotSupported(spec), "decoders[0].pattern: \"\" is not supported yet, expected a string to replace");
  spec.decoders = {ReplaceDecoder{"x", true, "\x80"}};
  EXPECT_EQ(Invalid(spec), "decoders[0].content: malformed UTF-8, expected well-formed UTF-8");
}

TEST(ValidateSpecTest, StagesWithFields) {
  TokenizerSpec spec = HuggingFace();
  spec.normalizers = {PrependNormalizer{""}};
  EXPECT_EQ(NotSupported(spec), "normalizers[0].prepend: \"\" is not supported yet, expected a string to put in front");
  spec.normalizers = {PrependNormalizer{"\x80"}};
  EXPECT_EQ(Invalid(spec), "normalizers[0].prepend: malformed UTF-8, expected well-formed UTF-8");
  spec = HuggingFace();
  spec.pre_tokenizers = {CharDelimiterPreTokenizer{"ab"}};
  EXPECT_EQ(Invalid(spec), "pre_tokenizers[0].delimiter: \"ab\", expected exactly one character");
  spec.pre_tokenizers = {FixedLengthPreTokenizer{0}};
  EXPECT_EQ(Invalid(spec), "pre_tokenizers[0].length: 0, expected a number of characters");
  spec.pre_tokenizers = {SplitPreTokenizer{.pattern = ""}};
  EXPECT_EQ(NotSupported(spec), "pre_tokenizers[0].pattern: \"\" is not supported yet, expected a string to look for");
  spec.pre_tokenizers = {SplitPreTokenizer{.pattern = "(?=a)", .is_regex = true}};
  EXPECT_EQ(NotSupported(spec),
            "pre_tokenizers[0].pattern: \"(?=a)\": a group beginning with \"(?\" is not supported in a regular expression "
            "(Oniguruma's syntax, run by RE2)");
}

TEST(ValidateSpecTest, DialectsDoNotMix) {
  TokenizerSpec spec = HuggingFace();
  spec.normalizers.push_back(SentencePieceNormalizer{});
  EXPECT_EQ(Invalid(spec),
            "normalizers[3]: SentencePieceNormalizer, expected none of SentencePiece's in the Hugging Face "
            "dialect");
  spec = HuggingFace();
  spec.decoders = {SentencePieceDecoder{}};
  EXPECT_EQ(
      Invalid(spec),
      "decoders[0]: SentencePieceDecoder, expected none of SentencePiece's in the Hugging Face dialect");
  spec = SentencePiece();
  spec.normalizers = {PrecompiledNormalizer{kCharsmap}};
  EXPECT_EQ(Invalid(spec),
            "normalizers[0]: a Hugging Face normalizer, expected SentencePieceNormalizer in the "
            "SentencePiece dialect");
  for (const int count : {0, 2}) {
    spec.normalizers.assign(static_cast<size_t>(count), SentencePieceNormalizer{});
    EXPECT_EQ(Invalid(spec),
              "normalizers: " + std::to_string(count) +
                  " of them, expected one SentencePieceNormalizer in the SentencePiece dialect");
  }
  spec = SentencePiece();
  spec.pre_tokenizers = {MetaspacePreTokenizer{}};
  EXPECT_EQ(Invalid(spec), "pre_tokenizers: 1 of them, expected none in the SentencePiece dialect");
}

TEST(ValidateSpecTest, MetaspaceReplacementIsOneCharacter) {
  for (const char* const replacement : {"", "ab", "\u2581\u2581", "\x80", "\xE2\x96"}) {
    TokenizerSpec spec = HuggingFace();
    spec.pre_tokenizers[1] = MetaspacePreTokenizer{replacement, PrependScheme::kAlways, true};
    EXPECT_EQ(Invalid(spec), "pre_tokenizers[1].replacement: \"" + std::string(replacement) +
                                 "\", expected exactly one character");
    spec = HuggingFace();
    spec.decoders[0] = MetaspaceDecoder{replacement, PrependScheme::kAlways};
    EXPECT_EQ(Invalid(spec), "decoders[0].replacement: \"" + std::string(replacement) +
                                 "\", expected exactly one character");
  }
}

TEST(ValidateSpecTest, Templates) {
  TokenizerSpec spec = HuggingFace();
  spec.post_processor.pair.push_back(TemplateSpecial{{0, 4}, "<x>", 1});
  EXPECT_EQ(Invalid(spec), "post_processor.pair[2].ids[1]: 4 (\"<x>\"), expected an id below 4");
  spec = HuggingFace();
  spec.post_processor.single[0] = TemplateSpecial{{-1}, "<x>", 1};
  EXPECT_EQ(Invalid(spec), "post_processor.single[0].ids[0]: -1 (\"<x>\"), expected an id below 4");
  spec = HuggingFace();
  spec.post_processor.single.emplace_back(TemplateSequence{Sequence::kB, 0});
  EXPECT_EQ(Invalid(spec),
            "post_processor.single[2]: sequence B, expected sequence A: a single text has no B");
}

}  // namespace
}  // namespace trellis
