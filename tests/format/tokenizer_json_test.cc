// What comes out of a tokenizer.json, and what is said about a broken one.
// Whether tokenizers takes a file at all is malformed_test.cc's matter.
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "gtest/gtest.h"
#include "trellis/load.h"

namespace trellis {
namespace {

// A file in XLM-RoBERTa's shape: new and old spellings, keys out of order.
constexpr std::string_view kXlmrLike = R"json({
  "version": "1.0",
  "truncation": {"max_length": 512, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
  "padding": null,
  "post_processor": {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "</s>", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                       "</s>": {"id": "</s>", "ids": [2, 1], "tokens": ["</s>", "<pad>"]}}
  },
  "model": {
    "unk_id": 3,
    "type": "Unigram",
    "vocab": [["<s>", 0.0], ["<pad>", 0], ["</s>", 0.0], ["<unk>", 0.0], ["\u2581the", -3.9299705028533936],
              ["\ud83d\ude00\n\"", -1e1]]
  },
  "added_tokens": [
    {"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
     "special": true},
    {"id": 77, "content": "<mask>", "single_word": false, "lstrip": true, "rstrip": false, "normalized": false,
     "special": true},
    {"id": 99, "content": "[L]", "single_word": false, "lstrip": false, "rstrip": true, "normalized": false,
     "special": false}
  ],
  "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "``"}, "content": "\""}]},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
  "pre_tokenizer": {"pretokenizers": [
    {"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": true},
    {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": false}], "type": "Sequence"},
  "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": true}
})json";

TEST(TokenizerJsonTest, ReadsEveryPart) {
  const absl::StatusOr<TokenizerSpec> spec = ParseTokenizerJson(kXlmrLike);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->dialect, Dialect::kHuggingFace);

  ASSERT_EQ(spec->model.pieces.size(), 6u);
  EXPECT_EQ(spec->model.pieces[4].text, "\u2581the");
  EXPECT_EQ(spec->model.pieces[4].score, -3.9299705028533936);
  EXPECT_EQ(spec->model.pieces[5].text, "\U0001F600\n\"");
  EXPECT_EQ(spec->model.pieces[5].score, -10.0);
  EXPECT_EQ(spec->model.unk_id, 3);
  EXPECT_FALSE(spec->model.byte_fallback);

  const std::vector<AddedToken> added = {
      {.content = "<s>", .id = 0, .special = true},
      {.content = "<mask>", .id = 6, .lstrip = true, .special = true},  // counted on from the model's end
      {.content = "[L]", .id = 7, .rstrip = true},
  };
  EXPECT_EQ(spec->added_tokens, added);

  const std::vector<Normalizer> normalizers = {
      ReplaceNormalizer{.pattern = "``", .is_regex = false, .content = "\""},
      ReplaceNormalizer{.pattern = " {2,}", .is_regex = true, .content = " "},
  };
  EXPECT_EQ(spec->normalizers, normalizers);

  const std::vector<PreTokenizer> pre_tokenizers = {
      WhitespaceSplitPreTokenizer{},
      MetaspacePreTokenizer{"\u2581", PrependScheme::kAlways, true},
      MetaspacePreTokenizer{"_", PrependScheme::kFirst, false},
  };
  EXPECT_EQ(spec->pre_tokenizers, pre_tokenizers);

  const std::vector<TemplatePiece> single = {
      TemplateSpecial{{0}, "<s>", 0}, TemplateSequence{Sequence::kA, 0}, TemplateSpecial{{2, 1}, "</s>", 0}};
  const std::vector<TemplatePiece> pair = {TemplateSpecial{{0}, "<s>", 0}, TemplateSequence{Sequence::kA, 0},
                                           TemplateSequence{Sequence::kB, 1},
                                           TemplateSpecial{{2, 1}, "</s>", 1}};
  EXPECT_EQ(spec->post_processor.single, single);
  EXPECT_EQ(spec->post_processor.pair, pair);

  const std::vector<Decoder> decoders = {MetaspaceDecoder{"\u2581", PrependScheme::kNever}};
  EXPECT_EQ(spec->decoders, decoders);
}

TEST(TokenizerJsonTest, MissingPartsAreThoseOfAnEmptySpec) {
  const absl::StatusOr<TokenizerSpec> spec = ParseTokenizerJson(R"({"model": {"vocab": [["a", -1]]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  TokenizerSpec expected;
  expected.model.pieces = {{"a", -1.0}};
  EXPECT_EQ(*spec, expected);
}

TEST(TokenizerJsonTest, ReadsThePrecompiledCharsmap) {
  // One unit that leads nowhere, then the replacement "a".
  const absl::StatusOr<TokenizerSpec> spec = ParseTokenizerJson(
      R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAABh"}, "model": {"vocab": [["a", -1]]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const std::vector<Normalizer> expected = {PrecompiledNormalizer{std::string("\4\0\0\0\0\0\0\0a", 9)}};
  EXPECT_EQ(spec->normalizers, expected);
}

// Replaces the one occurrence of `what` in the file above and returns the error.
std::string ErrorAfter(std::string_view what, std::string_view with) {
  std::string json(kXlmrLike);
  const size_t at = json.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  json.replace(at, what.size(), with);
  const absl::StatusOr<TokenizerSpec> spec = ParseTokenizerJson(json);
  return spec.ok() ? "loaded" : std::string(spec.status().message());
}

TEST(TokenizerJsonTest, ErrorsTellPlaceValueAndExpectation) {
  EXPECT_EQ(ErrorAfter("-3.9299705028533936", "\"-1.0\""), "model.vocab[4][1]: \"-1.0\", expected a number");
  EXPECT_EQ(ErrorAfter("-3.9299705028533936", "-1e400"),
            "model.vocab[4][1]: -1e400, expected a number in the range of double");
  EXPECT_EQ(ErrorAfter("-3.9299705028533936", "-3, 4"),
            "model.vocab[4][2]: 4, expected a pair of string and number, no more");
  EXPECT_EQ(ErrorAfter(", -3.9299705028533936", ""),
            "model.vocab[4]: an array of 1, expected a pair of string and number");
  EXPECT_EQ(ErrorAfter("\\ude00", ""),
            "model.vocab[5][0]: \"\\ud83d\\n\\\"\", expected a string with whole escapes");
  EXPECT_EQ(ErrorAfter("\"1.0\"", "\"1.1\""), "version: \"1.1\", expected \"1.0\"");
  EXPECT_EQ(ErrorAfter("\"Unigram\"", "\"BPE\""),
            "model.type: \"BPE\" is not supported yet, expected \"Unigram\"");
  EXPECT_EQ(ErrorAfter("\"Unigram\"", "[]"), "model.type: an array, expected a string");
  EXPECT_EQ(ErrorAfter("\"unk_id\": 3", "\"unk_id\": -3"), "model.unk_id: -3, expected a token id or null");
  EXPECT_EQ(ErrorAfter("\"unk_id\": 3", "\"unk_id\": 6"), "model.unk_id: 6, expected an id below 6");
  EXPECT_EQ(ErrorAfter("\"lstrip\": true", "\"lstrip\": 1"),
            "added_tokens[1].lstrip: 1, expected true or false");
  EXPECT_EQ(ErrorAfter("\"lstrip\": true, ", ""), "added_tokens[1].lstrip: missing, expected a value");
  EXPECT_EQ(ErrorAfter("\" {2,}\"", "\"(?<!a)b\""),
            "normalizers[1].pattern: \"(?<!a)b\": a group beginning with \"(?\" is not supported in a regular expression "
            "(Oniguruma's syntax, run by RE2)");
  EXPECT_EQ(ErrorAfter("{\"Regex\": \" {2,}\"}", "\"x\""),
            "normalizer.normalizers[1].pattern: \"x\", expected an object");
  EXPECT_EQ(ErrorAfter("{\"type\": \"WhitespaceSplit\"}", "{\"type\": \"ByteLevel\"}"),
            "pre_tokenizer.pretokenizers[0].type: \"ByteLevel\" is not supported yet, expected WhitespaceSplit, Whitespace, "
            "Metaspace, Punctuation, Digits, UnicodeScripts, Split, BertPreTokenizer, CharDelimiterSplit, FixedLength or "
            "Sequence");
  EXPECT_EQ(ErrorAfter("{\"type\": \"WhitespaceSplit\"}", "{\"type\": \"Digits\"}"),
            "pre_tokenizer.pretokenizers[0].individual_digits: missing, expected true or false");
  EXPECT_EQ(ErrorAfter("{\"type\": \"WhitespaceSplit\"}", "{\"type\": \"Punctuation\", \"behavior\": \"isolated\"}"),
            "pre_tokenizer.pretokenizers[0].behavior: \"isolated\", expected \"Removed\", \"Isolated\", "
            "\"MergedWithPrevious\", \"MergedWithNext\" or \"Contiguous\"");
  EXPECT_EQ(ErrorAfter("\"first\"", "\"sometimes\""),
            "pre_tokenizer.pretokenizers[2].prepend_scheme: \"sometimes\", expected \"first\", \"never\" or "
            "\"always\"");
  EXPECT_EQ(ErrorAfter("\"_\"", "\"__\""),
            "pre_tokenizers[2].replacement: \"__\", expected exactly one character");
  EXPECT_EQ(ErrorAfter("\"<s>\": {\"id\"", "\"<x>\": {\"id\""),
            "post_processor.single[0].SpecialToken.id: \"<s>\", expected a name out of special_tokens");
  EXPECT_EQ(ErrorAfter("[2, 1]", "[2, 8]"),
            "post_processor.single[2].ids[1]: 8 (\"</s>\"), expected an id below 8");
  EXPECT_EQ(ErrorAfter("\"LongestFirst\"", "\"Nicest\""),
            "truncation.strategy: \"Nicest\", expected \"LongestFirst\" or \"OnlyFirst\" or \"OnlySecond\"");
  EXPECT_EQ(ErrorAfter("\"version\"", "\"edition\""),
            "edition: unknown field, expected one of version, truncation, padding, added_tokens, normalizer, "
            "pre_tokenizer, post_processor, decoder, model");
  EXPECT_EQ(ErrorAfter("\"decoder\": {", "\"decoder\": {{"),
            "decoder: broken JSON here or inside (The JSON document has an improper structure: missing or "
            "superfluous "
            "commas, braces, missing keys, etc.), expected a whole value");
}

// The file with another part; its error or, when it is sound, the part.
absl::StatusOr<TokenizerSpec> With(std::string_view key, const std::string& value) {
  return ParseTokenizerJson(R"({"version":"1.0",")" + std::string(key) + R"(":)" + value +
                            R"(,"model":{"type":"Unigram","vocab":[["a",-1],["b",-2],["c",-3]]}})");
}
std::string ErrorWith(std::string_view key, const std::string& value) {
  return std::string(With(key, value).status().message());
}

TEST(TokenizerJsonTest, Decoders) {
  const auto spec = With("decoder", R"({"type":"Sequence","decoders":[
      {"type":"Replace","pattern":{"String":"_"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},
      {"type":"Replace","pattern":{"Regex":"_+"},"content":"-"},
      {"type":"Strip","content":" ","start":1,"stop":2},{"type":"Sequence","decoders":[]},
      {"type":"WordPiece","prefix":"##","cleanup":false}]})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const std::vector<Decoder> want = {ReplaceDecoder{"_", false, " "}, ByteFallbackDecoder{}, FuseDecoder{},
                                     ReplaceDecoder{"_+", true, "-"}, StripDecoder{" ", 1, 2}, FuseDecoder{},
                                     WordPieceDecoder{"##", false}};
  EXPECT_EQ(spec->decoders, want);
  EXPECT_EQ(ErrorWith("decoder", R"({"type":"CTC"})"),
            "decoder.type: \"CTC\" is not supported yet, expected Metaspace, ByteFallback, Fuse, Strip, Replace, "
            "WordPiece or Sequence");
  EXPECT_EQ(ErrorWith("decoder", R"({"type":"Strip","content":"ab","start":0,"stop":0})"),
            "decoders[0].content: \"ab\", expected exactly one character");
  EXPECT_EQ(ErrorWith("decoder", R"({"type":"Strip","content":"a","start":0})"),
            "decoder.stop: missing, expected a count");
  EXPECT_EQ(ErrorWith("decoder", R"({"type":"WordPiece","prefix":"##"})"),
            "decoder.cleanup: missing, expected true or false");
}

TEST(TokenizerJsonTest, PostProcessorsThatAreTemplates) {
  const TemplateSequence a{Sequence::kA, 0}, b{Sequence::kB, 0}, b1{Sequence::kB, 1};
  const TemplateSpecial cls{{0}, "a", 0}, sep{{1}, "b", 0}, sep1{{1}, "b", 1};
  const auto bert = With("post_processor", R"({"type":"BertProcessing","sep":["b",1],"cls":["a",0]})");
  ASSERT_TRUE(bert.ok()) << bert.status();
  EXPECT_EQ(bert->post_processor, (PostProcessorTemplate{{cls, a, sep}, {cls, a, sep, b1, sep1}}));
  const auto roberta = With("post_processor", R"({"type":"RobertaProcessing","sep":["b",1],"cls":["a",0],
      "trim_offsets":true,"add_prefix_space":false})");
  ASSERT_TRUE(roberta.ok()) << roberta.status();
  EXPECT_EQ(roberta->post_processor,
            (PostProcessorTemplate{{cls, a, sep}, {cls, a, sep, sep, b, sep}, TrimOffsets::kYes}));
  EXPECT_EQ(ErrorWith("post_processor", R"({"type":"BertProcessing","sep":["b",1]})"),
            "post_processor.cls: missing, expected a value");
  EXPECT_EQ(ErrorWith("post_processor", R"({"type":"BertProcessing","sep":["b"],"cls":["a",0]})"),
            "post_processor.sep: an array of 1, expected a pair of string and token id");
  EXPECT_EQ(ErrorWith("post_processor", R"({"type":"Sequence","processors":[{"sep":["b",1],"cls":["a",0]},
      {"sep":["b",1],"cls":["a",0]}]})"),
            "post_processor.processors[1]: a second one that adds tokens is not supported yet, expected one such in a "
            "Sequence");
}

TEST(TokenizerJsonTest, SectionsAreKeptAndDoNothing) {
  const auto cut = With("truncation", R"({"max_length":7,"strategy":"OnlySecond","stride":2,"direction":"Left"})");
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->truncation, (Truncation{Truncate::kOnlySecond, Side::kLeft, 7, 2}));
  const auto padded = With("padding", R"({"strategy":{"Fixed":9},"direction":"Left","pad_to_multiple_of":8,"pad_id":2,
      "pad_type_id":3,"pad_token":"c"})");
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_EQ(padded->padding, (Padding{9, 8, Side::kLeft, 2, 3, "c"}));
  EXPECT_FALSE(padded->truncation.has_value());
  EXPECT_EQ(ErrorWith("padding", R"({"strategy":"BatchLongest","direction":"Right","pad_id":0,"pad_type_id":300,
      "pad_token":"c"})"),
            "padding.pad_type_id: 300 is not supported yet, expected a type id below 256");
}

TEST(TokenizerJsonTest, LongValuesAreCutInMessages) {
  const std::string error =
      ErrorAfter("\"WhitespaceSplit\"", "\"" + std::string(59, 'x') + "\u20ac" + "yyy\"");
  EXPECT_EQ(error, "pre_tokenizer.pretokenizers[0].type: \"" + std::string(59, 'x') +
                       "...\" is not supported yet, expected WhitespaceSplit, Whitespace, Metaspace, Punctuation, Digits, "
                       "UnicodeScripts, Split, BertPreTokenizer, CharDelimiterSplit, FixedLength or Sequence");
}

TEST(TokenizerJsonTest, MalformedUtf8IsRefused) {
  for (const char* const bytes : {"\x80", "\xC3", "\xED\xA0\x80", "\xC0\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_EQ(
        ErrorAfter("[L]", bytes),
        "tokenizer.json: broken JSON here or inside (The input is not valid UTF-8), expected a whole value");
  }
}

// Any front part of a file is an error, never a crash or half a spec.
TEST(TokenizerJsonTest, EveryCutIsRefused) {
  for (size_t size = 0; size < kXlmrLike.size(); ++size) {
    EXPECT_FALSE(ParseTokenizerJson(kXlmrLike.substr(0, size)).ok()) << size;
  }
}

// One byte changed: anything may come out but a crash; run with sanitizers.
TEST(TokenizerJsonTest, EveryByteMayBeWrong) {
  std::string json(kXlmrLike);
  size_t refused = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    for (const char byte : {'"', '\\', '{', ']', ',', '\0', '\x80', '9'}) {
      const char before = std::exchange(json[i], byte);
      if (!ParseTokenizerJson(json).ok()) ++refused;
      json[i] = before;
    }
  }
  EXPECT_GT(refused, json.size() * 4);
}

}  // namespace
}  // namespace trellis
