// Generated texts for tests that compare one of our paths with another: scripts
// mixed, pieces glued, rules' keys, marks on anything, blanks of every kind,
// specials, malformed bytes. Same seed, same texts.
#ifndef TRELLIS_TESTS_INVARIANCE_GENERATED_TEXTS_H_
#define TRELLIS_TESTS_INVARIANCE_GENERATED_TEXTS_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/internal/text/charsmap.h"
#include "trellis/internal/text/unicode_tables.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis {

class GeneratedTexts {
 public:
  GeneratedTexts(const TokenizerSpec& spec, uint32_t seed) : spec_(spec), random_(seed) {
    for (uint32_t c = 0; c <= internal::kMaxCodePoint; ++c) {
      switch (internal::GraphemeBreakOf(c)) {
        case internal::GraphemeBreak::kExtend:
        case internal::GraphemeBreak::kZwj:
        case internal::GraphemeBreak::kSpacingMark:
          (c < 0x800 ? short_marks_ : marks_).push_back(c);
          break;
        case internal::GraphemeBreak::kPrepend:
        case internal::GraphemeBreak::kControl:
        case internal::GraphemeBreak::kRegionalIndicator:
          odd_.push_back(c);
          break;
        default:
          break;
      }
    }
    for (const Normalizer& normalizer : spec.normalizers) {
      std::string_view charsmap;
      if (const auto* precompiled = std::get_if<PrecompiledNormalizer>(&normalizer)) charsmap = precompiled->charsmap;
      if (const auto* own = std::get_if<SentencePieceNormalizer>(&normalizer)) charsmap = own->charsmap;
      if (charsmap.empty()) continue;
      internal::CharsMap(charsmap).ForEach([this](std::string_view key, std::string_view) {
        (key.size() < 6 ? short_keys_ : keys_).emplace_back(key);
      });
    }
  }

  std::string Next() {
    std::string text;
    const uint32_t parts = 1 + Below(Below(4) == 0 ? 40 : 8);
    const uint32_t taste = Below(4);
    for (uint32_t i = 0; i < parts; ++i) Append(text, taste);
    return text;
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  template <typename T>
  const T& Any(const std::vector<T>& from) {
    return from[Below(static_cast<uint32_t>(from.size()))];
  }
  void Put(std::string& text, uint32_t c) {
    if (c >= 0xD800 && c <= 0xDFFF) return;
    char bytes[internal::kMaxUtf8Bytes];
    text.append(bytes, internal::EncodeUtf8(c, bytes));
  }

  void Append(std::string& text, uint32_t taste) {
    static constexpr std::string_view kFixed[] = {
        " ", " ", " ", "  ", "\n", "\t", "\r\n", "\v", "\f", "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b",
        "<s>", "</s>", "<mask>", "<unk>", "<pad>", "\uff1cs\uff1e", "<", "\u2581", "\u2581\u2581", "\ufffd",
        "\u2026", "\u2026\x01", "\x01", "\u00a8\x02", "\ufb03", "\u337f", "\ufdfa", "\u1100\u1161\u11a8",
        "\U0001F468\u200D\U0001F469", "\U0001F1E9\U0001F1EA", "nnnnn", "?????", ".", ",", ")", "\xff", "\xe2\x96",
        "\xed\xa0\x80", "\xf0\x9f\x98", "\xc3"};
    switch (Below(12)) {
      case 0:
      case 1:
        text += Any(spec_.model.pieces).text;
        break;
      case 2:
      case 3: {
        std::string_view piece = Any(spec_.model.pieces).text;
        if (piece.starts_with("\u2581")) piece.remove_prefix(3);
        text += piece;
        break;
      }
      case 4:
      case 5:
        text += kFixed[Below(static_cast<uint32_t>(std::size(kFixed)))];
        break;
      case 6:
        text += ' ';
        break;
      case 7:
        if (taste == 0 && !short_keys_.empty()) {
          text += Any(short_keys_);
        } else if (!keys_.empty()) {
          text += Any(keys_);
        }
        break;
      case 8:
        Put(text, Any(taste == 1 ? marks_ : short_marks_));
        if (taste < 2) Put(text, Any(short_marks_));
        break;
      case 9:
        if (taste == 2) {
          Put(text, Any(odd_));
        } else {
          text += static_cast<char>(0x20 + Below(0x5F));
        }
        break;
      case 10:
        Put(text, taste == 3 ? Below(0x110000) : Below(0x3000));
        break;
      case 11: {
        const char c = static_cast<char>('a' + Below(26));
        text.append(1 + Below(taste == 0 ? 30 : 3), c);
        break;
      }
    }
  }

  const TokenizerSpec& spec_;
  std::mt19937 random_;
  std::vector<uint32_t> marks_, short_marks_, odd_;
  std::vector<std::string> keys_, short_keys_;
};

}  // namespace trellis

#endif  // TRELLIS_TESTS_INVARIANCE_GENERATED_TEXTS_H_
