// How WordPath's loading reads a spec; only its own sources include this.
#ifndef TRELLIS_SRC_WORD_PATH_SPEC_H_
#define TRELLIS_SRC_WORD_PATH_SPEC_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trellis/internal/text/unicode_tables.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis::internal {

inline const PrecompiledNormalizer* OnlyPrecompiled(const TokenizerSpec& spec) {
  return spec.normalizers.size() == 1 ? std::get_if<PrecompiledNormalizer>(&spec.normalizers[0]) : nullptr;
}

// The last pre-tokenizer of a spec that WordPath takes.
inline const MetaspacePreTokenizer& MetaspaceOf(const TokenizerSpec& spec) {
  return std::get<MetaspacePreTokenizer>(spec.pre_tokenizers.back());
}

// What becomes of the blanks between words: WhitespaceSplit drops them (all of
// White_Space), and Metaspace then puts a marker before each word; Metaspace
// alone makes a marker of each U+0020.
enum class BlanksBecome : uint8_t { kNothing, kMarkers };
inline BlanksBecome BlanksOf(const TokenizerSpec& spec) {
  return spec.pre_tokenizers.size() == 1 ? BlanksBecome::kMarkers : BlanksBecome::kNothing;
}

inline std::string Utf8(uint32_t code_point) {
  char bytes[kMaxUtf8Bytes];
  return std::string(bytes, EncodeUtf8(code_point, bytes));
}

// Only White_Space, and some.
inline bool IsBlank(std::string_view text) { return !text.empty() && LeadingWhitespace(text) == text.size(); }

// By block of kUnicodeBlock code points: whether `has` is true of the GraphemeBreak of any. Blocks share their
// properties, and few are different.
template <typename Has>
inline std::vector<bool> BlocksWith(Has has) {
  std::array<std::optional<bool>, 256> known;
  std::vector<bool> blocks(kUnicodeBlockCount);
  for (uint32_t block = 0; block < kUnicodeBlockCount; ++block) {
    std::optional<bool>& any = known[kUnicodeBlockIndex[block]];
    if (!any) {
      any = false;
      for (uint32_t i = 0; i < kUnicodeBlock; ++i) any = *any || has(GraphemeBreakOf(block * kUnicodeBlock + i));
    }
    blocks[block] = *any;
  }
  return blocks;
}

template <typename F>
inline void ForEachCodePoint(std::string_view text, F&& f) {
  while (!text.empty()) {
    const Decoded d = DecodeUtf8(text);
    f(d.code_point);
    text.remove_prefix(d.length);
  }
}

inline bool IsWellFormed(std::string_view text) {
  while (!text.empty()) {
    const Decoded d = DecodeUtf8(text);
    if (!d.well_formed) return false;
    text.remove_prefix(d.length);
  }
  return true;
}

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_WORD_PATH_SPEC_H_
