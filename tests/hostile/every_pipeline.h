// Every kind of pipeline with a dozen pieces: each normalizer, pre-tokenizer and way of matching alone and in
// the company that files have it in, in both dialects. What no text may do to one, it may do to none.
#ifndef TRELLIS_TESTS_HOSTILE_EVERY_PIPELINE_H_
#define TRELLIS_TESTS_HOSTILE_EVERY_PIPELINE_H_

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "trellis/spec.h"

namespace trellis {

struct NamedSpec {
  std::string name;
  TokenizerSpec spec;
};

// nmt_nfkc as XLM-RoBERTa has it: committed.
inline std::string XlmRobertaCharsmap() {
  std::ifstream in(TRELLIS_SOURCE_DIR "/third_party/xlm_roberta_charsmap/xlm_roberta.charsmap",
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void AddBytePieces(PieceType type, TokenizerSpec& spec) {
  spec.model.byte_fallback = true;
  const auto beyond = static_cast<TokenId>(spec.model.pieces.size());
  for (AddedToken& token : spec.added_tokens) {
    if (token.id >= beyond) token.id += 256;
  }
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    spec.model.pieces.push_back({text, -20.0, type});
  }
}

// Pieces that spell the specials too, as vocabularies have them.
inline TokenizerSpec PlainLetters() {
  TokenizerSpec spec;
  spec.model.pieces = {
      {"<s>", 0.0}, {"<unk>", 0.0}, {"</s>", 0.0}, {"<mask>", 0.0},  {"\u2581", -2.0},    {"a", -3.0},
      {"aa", -4.0}, {"<", -5.0},    {"s", -5.0},   {">", -5.0},      {"/", -5.5},         {"\u2581a", -3.5},
      {"m", -5.0},  {"k", -5.25},   {" ", -3.0},   {"\u0301", -6.0}, {"\u2581<s>", -6.5}, {"s>", -5.75}};
  spec.model.unk_id = 1;
  std::vector<AddedToken> tokens;
  for (const char* content : {"<s>", "</s>", "<mask>", "<pad>"}) {
    tokens.push_back({.content = content, .lstrip = content[1] == 'm', .special = true});
  }
  AddTokens(tokens, spec);
  return spec;
}

inline std::vector<NamedSpec> HuggingFacePipelines() {
  const TokenizerSpec plain = PlainLetters();
  std::vector<NamedSpec> out = {{"nothing", plain}};
  const auto with = [&](std::string name, std::vector<Normalizer> normalizers,
                        std::vector<PreTokenizer> pre_tokenizers) -> TokenizerSpec& {
    TokenizerSpec spec = plain;
    spec.normalizers = std::move(normalizers);
    spec.pre_tokenizers = std::move(pre_tokenizers);
    return out.emplace_back(NamedSpec{std::move(name), std::move(spec)}).spec;
  };
  const std::string charsmap = XlmRobertaCharsmap();
  const std::vector<PreTokenizer> words = {WhitespaceSplitPreTokenizer{}, MetaspacePreTokenizer{}};
  with("XLM-RoBERTa", {PrecompiledNormalizer{charsmap}}, words);
  with("Metaspace", {}, {MetaspacePreTokenizer{}});
  with("Metaspace without split", {}, {MetaspacePreTokenizer{.split = false}});
  with("T5", {PrecompiledNormalizer{charsmap}, ReplaceNormalizer{" {2,}", true, "\u2581"}},
       {MetaspacePreTokenizer{}});
  with("ALBERT",
       {ReplaceNormalizer{"``", false, "\""}, UnicodeNormalizer{UnicodeForm::kNfkd}, StripAccentsNormalizer{},
        LowercaseNormalizer{}, PrecompiledNormalizer{charsmap}},
       words);
  for (const auto& [name, form] :
       {std::pair{"NFC", UnicodeForm::kNfc}, std::pair{"NFD", UnicodeForm::kNfd},
        std::pair{"NFKC", UnicodeForm::kNfkc}, std::pair{"NFKD", UnicodeForm::kNfkd}}) {
    with(name, {UnicodeNormalizer{form}}, words);
  }
  with("Nmt", {NmtNormalizer{}}, words);
  with("Lowercase", {LowercaseNormalizer{}}, words);
  with("Strip", {StripNormalizer{}}, words);
  with("StripAccents", {UnicodeNormalizer{UnicodeForm::kNfd}, StripAccentsNormalizer{}}, words);
  with("Prepend", {PrependNormalizer{"\u2581"}, ReplaceNormalizer{" ", false, "\u2581"}}, {});
  with("Bert", {BertNormalizer{}}, {BertPreTokenizer{}});
  with("Replace makes specials",
       {ReplaceNormalizer{"a", false, "<s>"}, ReplaceNormalizer{"m+", true, "</s>"}}, words);
  with("Replace takes letters", {ReplaceNormalizer{"k", false, ""}, ReplaceNormalizer{"[0-9]", true, ""}},
       words);
  with("Whitespace", {}, {WhitespacePreTokenizer{}});
  with("Punctuation", {}, {PunctuationPreTokenizer{}});
  with("Punctuation, contiguous", {}, {PunctuationPreTokenizer{SplitBehavior::kContiguous}});
  with("Digits", {}, {DigitsPreTokenizer{true}});
  with("UnicodeScripts", {}, {UnicodeScriptsPreTokenizer{}, MetaspacePreTokenizer{}});
  with("Split", {},
       {SplitPreTokenizer{"\\s+", true, SplitBehavior::kMergedWithNext},
        SplitPreTokenizer{"a", false, SplitBehavior::kIsolated}});
  with("CharDelimiterSplit", {}, {CharDelimiterPreTokenizer{"a"}});
  with("FixedLength", {}, {FixedLengthPreTokenizer{3}});
  AddBytePieces(PieceType::kNormal, with("byte fallback", {}, {MetaspacePreTokenizer{.split = false}}));
  AddBytePieces(PieceType::kNormal,
                with("byte fallback behind NFKC", {UnicodeNormalizer{UnicodeForm::kNfkc}}, {}));
  for (const UnicodeForm form : {UnicodeForm::kNfc, UnicodeForm::kNfkc}) {
    TokenizerSpec& spec =
        with(form == UnicodeForm::kNfc ? "normalized tokens" : "normalized tokens behind NFKC",
             {UnicodeNormalizer{form}, LowercaseNormalizer{}}, words);
    for (AddedToken& token : spec.added_tokens) token.normalized = true;
  }
  TokenizerSpec& single = with("single words", {}, words);
  for (AddedToken& token : single.added_tokens) token.single_word = token.rstrip = true;
  // Tokens that are no specials are matched behind the shield too.
  AddTokens({{.content = "<"}, {.content = "s>", .normalized = true}, {.content = "aa", .single_word = true}},
            with("tokens of specials' letters", {LowercaseNormalizer{}}, words));
  return out;
}

inline std::vector<NamedSpec> SentencePiecePipelines() {
  std::vector<NamedSpec> out;
  const std::string charsmap = XlmRobertaCharsmap();
  for (int flags = 0; flags < 16; ++flags) {
    SentencePieceNormalizer normalizer{charsmap, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0,
                                       (flags & 8) != 0};
    if (flags % 3 == 0) normalizer.charsmap.clear();
    TokenizerSpec spec = PlainLetters();
    spec.dialect = Dialect::kSentencePiece;
    for (Piece& piece : spec.model.pieces) {
      if (piece.text == "<s>" || piece.text == "</s>" || piece.text == "<mask>")
        piece.type = PieceType::kControl;
      // Or special only because somebody has added it.
      if (piece.text == "<mask>" && flags % 6 == 2) piece.type = PieceType::kUserDefined;
      if (piece.text == "<s>" && flags % 6 == 4) piece.type = PieceType::kNormal;
      if (piece.text == "<unk>") piece.type = PieceType::kUnknown;
      if (piece.text == "aa" && flags % 5 == 0) piece.type = PieceType::kUserDefined;
    }
    if (flags % 4 == 1) AddBytePieces(PieceType::kByte, spec);
    if (flags % 2 == 1) spec.added_tokens.clear();
    spec.normalizers = {normalizer};
    spec.decoders = {SentencePieceDecoder{}};
    out.push_back({"SentencePiece " + std::to_string(flags), std::move(spec)});
  }
  return out;
}

inline std::vector<NamedSpec> EveryPipeline() {
  std::vector<NamedSpec> all = HuggingFacePipelines();
  for (NamedSpec& one : SentencePiecePipelines()) all.push_back(std::move(one));
  return all;
}

}  // namespace trellis

#endif  // TRELLIS_TESTS_HOSTILE_EVERY_PIPELINE_H_
