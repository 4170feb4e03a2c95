// What compiled files are tested with: small specs of each path, texts that are
// hard on tables, and an encoding that asks for exactly the room that is promised.
#ifndef TRELLIS_TESTS_TOKENIZER_COMPILED_SPECS_H_
#define TRELLIS_TESTS_TOKENIZER_COMPILED_SPECS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/tokenizer/small_specs.h"
#include "trellis/load.h"

namespace trellis {

// SmallSpec with rules (words), without (plain: nothing cuts at blanks), and in
// SentencePiece's dialect (words whose sums go on).
inline TokenizerSpec SpecWithRules() {
  TokenizerSpec spec = SmallSpec();
  // darts-clone: units 0 root (offset 1), and below it '!' (0x21) and 'A' (0x41),
  // each with a leaf behind.
  std::string blob("\x00\x02\x00\x00", 4);
  std::vector<uint32_t> units(128, 0);
  const auto node = [&](uint32_t at, uint8_t label, uint32_t to, uint32_t value) {
    units[at] = label | 1u << 8 | (at ^ to) << 10;
    units[to] = 1u << 31 | value;
  };
  units[0] = 1u << 10;
  node(1 ^ 0x21, 0x21, 100, 0);
  node(1 ^ 0x41, 0x41, 102, 2);
  for (const uint32_t unit : units) {
    for (int shift = 0; shift < 32; shift += 8) blob.push_back(static_cast<char>(unit >> shift));
  }
  blob += std::string("a\0bcab", 6);
  spec.normalizers = {PrecompiledNormalizer{blob}};
  return spec;
}

inline TokenizerSpec PlainSpec() {
  TokenizerSpec spec = SmallSpec();
  spec.pre_tokenizers = {PunctuationPreTokenizer{}};
  return spec;
}

inline TokenizerSpec SummedSpec() {
  TokenizerSpec spec = SmallSpec();
  spec.dialect = Dialect::kSentencePiece;
  for (size_t id = 0; id < 4; ++id) {
    spec.model.pieces[id].type = id == static_cast<size_t>(kUnk) ? PieceType::kUnknown : PieceType::kControl;
  }
  spec.model.unk_surface = " \u2047 ";
  spec.normalizers = {
      SentencePieceNormalizer{std::get<PrecompiledNormalizer>(SpecWithRules().normalizers[0]).charsmap}};
  spec.pre_tokenizers.clear();
  spec.decoders = {SentencePieceDecoder{}};
  return spec;
}

inline std::vector<TokenizerSpec> CompiledSpecs() {
  return {SmallSpec(), SpecWithRules(), PlainSpec(), SummedSpec()};
}

inline const std::vector<std::string>& HardTexts() {
  static const std::vector<std::string> texts = {"",
                                                 "ab abc. a",
                                                 " a  b\tc ",
                                                 "A!A! abA ab!",
                                                 "<s> a <mask> \u2581\u2581a",
                                                 "\xFF\xE2\x96 \u6771\u00e9 \u0301a\uFFFD",
                                                 std::string(300, 'a') + std::string(200, 'b'),
                                                 std::string(1500, '!') + " \u6771",
                                                 "ab,ab.ab:ab;ab)ab?ab!ab\" ab\" a. b, c."};
  return texts;
}

// In exactly the room that is promised. Checks what holds whatever the tables are:
// ids are of the vocabulary, offsets of the text, and with the shield nothing
// special comes out of text.
inline EncodedText EncodeExactly(const Tokenizer& tokenizer, std::string_view text,
                                 const EncodeOptions& options) {
  const std::string copy(text);  // of its own, so that a sanitizer sees a read behind it
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(copy.size()));
  EncodedText out;
  out.ids.resize(tokenizer.MaxTokens(copy.size()));
  out.offsets.resize(out.ids.size());
  const auto got = tokenizer.Encode(Input{copy}, options, scratch, {.ids = out.ids, .offsets = out.offsets});
  if (!got.ok()) {
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument)
        << "no unknown piece is the only reason";
    return {};
  }
  out.ids.resize(got->ids.size());
  out.offsets.resize(got->ids.size());
  for (size_t i = 0; i < out.ids.size(); ++i) {
    const TokenId id = out.ids[i];
    EXPECT_TRUE(id >= 0 && id < tokenizer.vocab().size()) << id;
    if (!options.match_special_tokens && !options.add_special_tokens) {
      EXPECT_TRUE(id == tokenizer.vocab().unk_id() || !tokenizer.vocab().IsSpecial(id))
          << id << " in " << text;
    }
    EXPECT_LE(out.offsets[i].begin, copy.size());
    EXPECT_LE(out.offsets[i].end, copy.size());
  }
  return out;
}

// Encodes and decodes everything; the same as `want` where that is given.
inline void UseTokenizer(const Tokenizer& tokenizer, const Tokenizer* want = nullptr) {
  for (const std::string& text : HardTexts()) {
    for (const bool shield : {false, true}) {
      const EncodeOptions options{.add_special_tokens = !shield, .match_special_tokens = !shield};
      const EncodedText got = EncodeExactly(tokenizer, text, options);
      const std::string decoded = tokenizer.Decode(got.ids);
      if (want == nullptr) continue;
      const EncodedText expected = EncodeExactly(*want, text, options);
      EXPECT_EQ(got.ids, expected.ids) << text;
      EXPECT_EQ(got.offsets, expected.offsets) << text;
      EXPECT_EQ(decoded, want->Decode(expected.ids)) << text;
    }
  }
}

}  // namespace trellis

#endif  // TRELLIS_TESTS_TOKENIZER_COMPILED_SPECS_H_
