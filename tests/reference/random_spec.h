// Any pipeline: a valid TokenizerSpec and texts that are hard on it, drawn from
// choices that a fuzzer's bytes or a seed make. Every stage of trellis/spec.h can
// come up, alone and after any other.
#ifndef TRELLIS_TESTS_REFERENCE_RANDOM_SPEC_H_
#define TRELLIS_TESTS_REFERENCE_RANDOM_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/reference/small_charsmap.h"
#include "trellis/spec.h"

namespace trellis::reference {

// From a seed, or from bytes as long as there are any and zeros then.
class Choices {
 public:
  explicit Choices(uint32_t seed) : random_(seed), is_random_(true) {}
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  uint32_t Below(uint32_t n) { return is_random_ ? static_cast<uint32_t>(random_() % n) : Byte() % n; }
  bool Once(uint32_t in) { return Below(in) == in - 1; }
  template <typename T, size_t kCount>
  const T& Any(const T (&from)[kCount]) {
    return from[Below(kCount)];
  }
  // What is left of the bytes.
  std::string_view rest() const { return bytes_; }

 private:
  uint32_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  std::string_view bytes_;
  std::mt19937 random_;
  bool is_random_ = false;
};

// What pieces, added tokens, rules and texts are made of: letters, and spellings that some normal form makes
// of others.
// clang-format off
inline constexpr const char* kParts[] = {
    "a", "b", "ab", "A", "\u2581", " ", "  ", "<", ">", "<s>", "</s>", "<mask>", "s", "\u017f", "\uff1c",
    "\uff1e", "\uff53", "\ufe64", "\u226e", "\u0338", "\u00e9", "e\u0301", "\u0301", "\u0130", "\u00df",
    "\u1e9e", "\ufb01", "\u4e00", "\uac00", "1", "\u00bd", "\u0661", ".", ",", "-", "\t", "\n", "\u00a0",
    "\u200b", "\u200d", "\x01", "\x7f", "\u3000", "\ufdfa", "\u0344", "\ufffd", "\u2126", "\u03a3", "ab ",
    "\u2581a", "\u0915\u094d\u0937", "\u1100\u1161\u11a8", "\U0001F468\u200D\U0001F469", "/", "mask", "S",
    "\u2581<", "<0x41>",
};
// clang-format on

// Of those that mean the same to RE2 as to the reference.
inline constexpr const char* kRegexes[] = {" {2,}",   "[0-9]+", "\\s",  "\\p{Lu}", "a|ab",
                                           "<[a-z]>", ".",      "\\w+", "[^a]",    "\\d{1,2}"};

class RandomSpec {
 public:
  explicit RandomSpec(Choices& choices) : choices_(choices) {}

  // Nearly always valid: ValidateSpec says.
  TokenizerSpec Next() {
    TokenizerSpec spec;
    spec.dialect = choices_.Once(4) ? Dialect::kSentencePiece : Dialect::kHuggingFace;
    const bool sentencepiece = spec.dialect == Dialect::kSentencePiece;
    SetModel(spec);
    if (sentencepiece) {
      spec.normalizers = {SentencePieceNormalizer{Flag() ? Charsmap() : "", Flag(), Flag(), Flag(), Flag()}};
      spec.decoders = {SentencePieceDecoder{}};
    } else {
      if (choices_.Once(3)) SetXlmRoberta(spec);
      for (uint32_t n = choices_.Below(4); n > 0; --n) spec.normalizers.push_back(AnyNormalizer());
      for (uint32_t n = choices_.Below(3); n > 0; --n) spec.pre_tokenizers.push_back(AnyPreTokenizer());
      for (uint32_t n = choices_.Below(3); n > 0; --n) spec.decoders.push_back(AnyDecoder());
    }
    AddTokens(AddedOnes(), spec);
    SetTemplate(spec);
    return spec;
  }

  std::string Text(uint32_t most_parts) {
    std::string text;
    for (uint32_t n = choices_.Below(most_parts + 1); n > 0; --n) {
      if (choices_.Once(12)) {
        text += static_cast<char>(0x80 + choices_.Below(128));  // malformed, or part of a character
      } else {
        text += choices_.Any(kParts);
      }
    }
    return text;
  }

 private:
  bool Flag() { return choices_.Below(2) != 0; }
  std::string Part() { return choices_.Any(kParts); }
  std::string Parts(uint32_t most) {
    std::string parts;
    for (uint32_t n = 1 + choices_.Below(most); n > 0; --n) parts += Part();
    return parts;
  }

  void SetModel(TokenizerSpec& spec) {
    UnigramModel& model = spec.model;
    const bool sentencepiece = spec.dialect == Dialect::kSentencePiece;
    const auto add = [&](std::string text, PieceType type) {
      model.pieces.push_back(
          {std::move(text), -0.25 * (1 + choices_.Below(48)), sentencepiece ? type : PieceType::kNormal});
    };
    add("<unk>", PieceType::kUnknown);
    add("<s>", PieceType::kControl);
    add("</s>", PieceType::kControl);
    model.unk_id = 0;
    model.byte_fallback = choices_.Once(3);
    for (uint32_t n = 1 + choices_.Below(24); n > 0; --n) {
      add(Parts(3), choices_.Once(6)   ? PieceType::kUserDefined
                    : choices_.Once(9) ? PieceType::kUnused
                                       : PieceType::kNormal);
    }
    if (!model.byte_fallback) return;
    // SentencePiece wants all of them.
    const uint32_t every = sentencepiece || Flag() ? 1 : 3;
    for (uint32_t byte = 0; byte < 256; byte += every) {
      char text[8];
      std::snprintf(text, sizeof text, "<0x%02X>", byte);
      add(text, PieceType::kByte);
    }
  }

  // What has shortcuts.
  void SetXlmRoberta(TokenizerSpec& spec) {
    if (Flag()) spec.normalizers.push_back(PrecompiledNormalizer{Charsmap()});
    if (Flag()) spec.pre_tokenizers.push_back(WhitespaceSplitPreTokenizer{});
    spec.pre_tokenizers.push_back(MetaspacePreTokenizer{});
    spec.decoders = {MetaspaceDecoder{}};
  }

  std::string Charsmap() {
    std::map<std::string, std::string> rules;
    for (uint32_t n = 1 + choices_.Below(6); n > 0; --n) rules[Parts(2)] = choices_.Once(4) ? "" : Parts(3);
    return SmallCharsmap::Of(rules);
  }

  Normalizer AnyNormalizer() {
    switch (choices_.Below(10)) {
      case 0:
        return PrecompiledNormalizer{Charsmap()};
      case 1:
        return ReplaceNormalizer{Parts(2), false, Flag() ? Parts(3) : ""};
      case 2:
        return ReplaceNormalizer{choices_.Any(kRegexes), true, Flag() ? Parts(3) : ""};
      case 3:
        return UnicodeNormalizer{static_cast<UnicodeForm>(choices_.Below(4))};
      case 4:
        return NmtNormalizer{};
      case 5:
        return LowercaseNormalizer{};
      case 6:
        return StripNormalizer{Flag(), Flag()};
      case 7:
        return StripAccentsNormalizer{};
      case 8:
        return PrependNormalizer{Parts(2)};
      default:
        return BertNormalizer{Flag(), Flag(), Flag() ? std::optional<bool>(Flag()) : std::nullopt, Flag()};
    }
  }

  PreTokenizer AnyPreTokenizer() {
    const auto behavior = [&] { return static_cast<SplitBehavior>(choices_.Below(5)); };
    static constexpr const char* kCharacters[] = {"\u2581", "a", "_", "\u4e00"};
    switch (choices_.Below(10)) {
      case 0:
        return WhitespaceSplitPreTokenizer{};
      case 1:
        return MetaspacePreTokenizer{choices_.Any(kCharacters), static_cast<PrependScheme>(choices_.Below(3)),
                                     Flag()};
      case 2:
        return WhitespacePreTokenizer{};
      case 3:
        return PunctuationPreTokenizer{behavior()};
      case 4:
        return DigitsPreTokenizer{Flag()};
      case 5:
        return UnicodeScriptsPreTokenizer{};
      case 6:
        return SplitPreTokenizer{Flag() ? choices_.Any(kRegexes) : Part(), Flag(), behavior(), Flag()};
      case 7:
        return BertPreTokenizer{};
      case 8:
        return CharDelimiterPreTokenizer{choices_.Any(kCharacters)};
      default:
        return FixedLengthPreTokenizer{1 + choices_.Below(6)};
    }
  }

  Decoder AnyDecoder() {
    switch (choices_.Below(7)) {
      case 0:
        return MetaspaceDecoder{"\u2581", static_cast<PrependScheme>(choices_.Below(3))};
      case 1:
        return ReplaceDecoder{Part(), false, Flag() ? Parts(3) : ""};
      case 2:
        return ReplaceDecoder{choices_.Any(kRegexes), true, Flag() ? Parts(3) : ""};
      case 3:
        return ByteFallbackDecoder{};
      case 4:
        return FuseDecoder{};
      case 5:
        return StripDecoder{Flag() ? " " : "a", choices_.Below(3), choices_.Below(3)};
      default:
        return WordPieceDecoder{Flag() ? "##" : "a", Flag()};
    }
  }

  std::vector<AddedToken> AddedOnes() {
    std::vector<AddedToken> tokens = {{.content = "<s>", .special = true},
                                      {.content = "</s>", .special = true}};
    for (AddedToken& token : tokens) token.normalized = choices_.Once(3);
    tokens.push_back(
        {.content = "<mask>", .lstrip = Flag(), .rstrip = Flag(), .normalized = Flag(), .special = true});
    for (uint32_t n = choices_.Below(4); n > 0; --n) {
      tokens.push_back({.content = Parts(2),
                        .single_word = Flag(),
                        .lstrip = Flag(),
                        .rstrip = Flag(),
                        .normalized = Flag(),
                        .special = choices_.Once(3)});
    }
    return tokens;
  }

  void SetTemplate(TokenizerSpec& spec) {
    const TemplateSpecial begin{{1}, "<s>", 0}, end{{2}, "</s>", 0};
    spec.post_processor.single = {begin, TemplateSequence{}, end};
    spec.post_processor.pair = {begin, TemplateSequence{}, end, TemplateSequence{Sequence::kB, 1}, end};
    spec.post_processor.trim_offsets = static_cast<TrimOffsets>(choices_.Once(4) ? choices_.Below(3) : 0);
  }

  Choices& choices_;
};

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_RANDOM_SPEC_H_
