// CodePointTable: what the fast path does with one code point.
//
// Two stages, 4 bytes a code point. Pages without anything to say share one.
#ifndef TRELLIS_INTERNAL_TEXT_CODE_POINTS_H_
#define TRELLIS_INTERNAL_TEXT_CODE_POINTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

class CodePointTable {
 public:
  // An entry: a number in the low bits, flags above. 0: nothing known.
  static constexpr uint32_t kNumberMask = 0xFFFF;
  static constexpr uint32_t kBlank = 1u << 16;      // White_Space once normalized
  static constexpr uint32_t kReplaced = 1u << 17;   // number: of the replacement
  static constexpr uint32_t kMark = 1u << 18;       // joins the cluster before it
  static constexpr uint32_t kRuleMark = 1u << 19;   // a mark that short rules of two characters end in
  static constexpr uint32_t kMarker = 1u << 20;     // is itself the blank's replacement (U+2581)
  static constexpr uint32_t kStrange = 1u << 21;    // left to the exact stages
  // Of rules that are keyed by several characters (SentencePiece's):
  static constexpr uint32_t kKeyEnd = 1u << 22;     // stands in a key behind its first character
  static constexpr uint32_t kKeyBegin = 1u << 23;   // stands in a key before its last one; alone that says nothing
  static constexpr uint32_t kFlags = ~(kNumberMask | kKeyBegin);

  CodePointTable() : pages_(kPages, 0), entries_(kPageSize, 0) {}
  // Of what pages() and entries() of another gave; nullopt when they are no such
  // table: each page must be there, and the first must say nothing.
  static std::optional<CodePointTable> Of(std::span<const uint16_t> pages, std::span<const uint32_t> entries) {
    if (pages.size() != kPages || entries.size() < kPageSize || entries.size() % kPageSize != 0) return std::nullopt;
    const size_t count = entries.size() / kPageSize;
    const auto inside = [&](uint16_t page) { return page < count; };
    const auto nothing = [](uint32_t entry) { return entry == 0; };
    if (!std::all_of(pages.begin(), pages.end(), inside)) return std::nullopt;
    if (!std::all_of(entries.begin(), entries.begin() + kPageSize, nothing)) return std::nullopt;
    CodePointTable table;
    table.pages_.assign(pages.begin(), pages.end());
    table.entries_.assign(entries.begin(), entries.end());
    for (uint32_t c = 0; c < table.ascii_.size(); ++c) table.ascii_[c] = table[c];
    return table;
  }

  uint32_t operator[](uint32_t code_point) const {
    return entries_[pages_[code_point >> kPageBits] * kPageSize + (code_point & (kPageSize - 1))];
  }

  // The entry of the character at text[at], which ends by `end`, and its bytes; length 0: it is malformed.
  struct Found {
    uint32_t entry;
    uint32_t length;
  };
  Found At(std::string_view text, uint32_t at, uint32_t end) const {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    const uint8_t lead = bytes[at];
    if (lead < 0x80) return {ascii_[lead], 1};
    if (lead >= 0xC2 && lead < 0xE0 && end - at >= 2 && IsContinuation(bytes[at + 1])) {
      return {(*this)[(lead & 0x1Fu) << 6 | (bytes[at + 1] & 0x3Fu)], 2};
    }
    const Decoded d = DecodeUtf8(text.substr(at, end - at));
    if (!d.well_formed) return {0, 0};
    return {(*this)[d.code_point], d.length};
  }

  // Building only.
  void Set(uint32_t code_point, uint32_t entry) {
    if (code_point < ascii_.size()) ascii_[code_point] = entry;
    uint16_t& page = pages_[code_point >> kPageBits];
    if (page == 0) {
      page = static_cast<uint16_t>(entries_.size() / kPageSize);
      entries_.resize(entries_.size() + kPageSize, 0);
    }
    entries_[page * kPageSize + (code_point & (kPageSize - 1))] = entry;
  }
  void AddFlags(uint32_t code_point, uint32_t flags) { Set(code_point, (*this)[code_point] | flags); }

  // Calls f(code point, entry) for each that has something to say, in order.
  template <typename F>
  void ForEach(F&& f) const {
    for (uint32_t page = 0; page < kPages; ++page) {
      if (pages_[page] == 0) continue;
      const uint32_t* const entries = entries_.data() + size_t{pages_[page]} * kPageSize;
      for (uint32_t i = 0; i < kPageSize; ++i) {
        if (entries[i] != 0) f(page * kPageSize + i, entries[i]);
      }
    }
  }
  std::span<const uint16_t> pages() const { return pages_; }
  std::span<const uint32_t> entries() const { return entries_; }

  size_t bytes() const { return pages_.size() * sizeof(uint16_t) + entries_.size() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kPageBits = 7;
  static constexpr uint32_t kPageSize = 1u << kPageBits;
  static constexpr uint32_t kPages = (kMaxCodePoint + 1) >> kPageBits;
  std::array<uint32_t, 128> ascii_ = {};  // the first page again, one load away
  std::vector<uint16_t> pages_;
  std::vector<uint32_t> entries_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_CODE_POINTS_H_
