// Added tokens: where strings of a fixed list occur in a text (tokenizers
// 0.22.2, tokenizer/added_vocabulary.rs, find_matches).
//
// Leftmost, then longest; matches do not overlap. single_word drops a match
// that touches a word character; lstrip and rstrip take the neighbouring
// White_Space into the match. Time is linear in text without first bytes of
// tokens; no allocation, no lock.
#ifndef TRELLIS_INTERNAL_STAGE_ADDED_TOKENS_H_
#define TRELLIS_INTERNAL_STAGE_ADDED_TOKENS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/encoding.h"
#include "trellis/internal/text/unicode_tables.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/internal/trie/double_array_trie.h"

namespace trellis::internal {

// How one added token behaves in text; `pattern` is what is looked for.
struct AddedTokenRule {
  std::string pattern;
  TokenId id = 0;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool special = false;
};

struct AddedTokenMatch {
  size_t begin;  // bytes of the text, blanks taken by lstrip and rstrip included
  size_t end;
  TokenId id;
};

// Of special tokens: found in text; kept out of it, by the pieces as well; or
// passed over where they are found, while pieces are as they are
// (encode_special_tokens of tokenizers).
enum class MatchSpecial : uint8_t { kYes, kNo, kPassOver };

class AddedTokenMatcher {
 public:
  // Of rules with the same pattern the first counts. Empty patterns never match.
  explicit AddedTokenMatcher(std::vector<AddedTokenRule> rules);

  bool empty() const { return rules_.empty(); }
  std::span<const AddedTokenRule> rules() const { return rules_; }
  // Bytes of the shortest pattern; 0 without patterns.
  size_t shortest() const { return shortest_; }

  // One pass over a text; Next returns false at the end.
  class Pass {
   public:
    Pass(const AddedTokenMatcher& matcher, std::string_view text, MatchSpecial special)
        : matcher_(matcher), text_(text), special_(special) {}

    bool Next(AddedTokenMatch& match) {
      while (at_ < text_.size()) {
        at_ = matcher_.NextStart(text_, at_);
        if (at_ >= text_.size()) return false;
        const AddedTokenRule* rule = matcher_.LongestAt(text_.substr(at_), special_);
        if (rule == nullptr) {
          ++at_;
          continue;
        }
        const size_t begin = at_;
        const size_t end = at_ + rule->pattern.size();
        at_ = end;
        if (special_ == MatchSpecial::kPassOver && rule->special) continue;
        if (rule->single_word && (EndsWithWord(text_.substr(0, begin)) || StartsWithWord(text_.substr(end)))) continue;
        match = {begin, end, rule->id};
        if (rule->lstrip) match.begin = std::max(begin - TrailingWhitespace(text_.substr(0, begin)), taken_);
        if (rule->rstrip) match.end += LeadingWhitespace(text_.substr(end));
        // Blanks that the match before has taken: the reference drops what is left
        // empty (and panics where that match took more).
        if (match.begin >= match.end) continue;
        taken_ = match.end;
        return true;
      }
      return false;
    }

   private:
    static bool StartsWithWord(std::string_view text) {
      return !text.empty() && IsWordCharacter(DecodeUtf8(text).code_point);
    }
    static bool EndsWithWord(std::string_view text) {
      if (text.empty()) return false;
      size_t begin = text.size() - 1;
      while (begin > 0 && text.size() - begin < kMaxUtf8Bytes && IsContinuation(static_cast<uint8_t>(text[begin]))) {
        --begin;
      }
      const Decoded d = DecodeUtf8(text.substr(begin));
      return d.length == text.size() - begin && IsWordCharacter(d.code_point);
    }

    const AddedTokenMatcher& matcher_;
    std::string_view text_;
    MatchSpecial special_;
    size_t at_ = 0;
    size_t taken_ = 0;  // end of the last match
  };

 private:
  void BuildStarts();
  // Where a pattern may begin. With thousands of patterns each letter begins one;
  // few of the groups of letters in a text do.
  size_t NextStart(std::string_view text, size_t from) const {
    if (single_first_byte_ >= 0) {
      const void* hit = std::memchr(text.data() + from, single_first_byte_, text.size() - from);
      return hit == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(hit) - text.data());
    }
    if (!starts_.empty()) {
      for (; text.size() - from >= kStartBytes; ++from) {
        const uint32_t hash = StartHash(text.data() + from);
        if ((starts_[hash / 64] >> (hash % 64) & 1) != 0) return from;
      }
      return shortest_ < kStartBytes ? from : text.size();
    }
    while (from < text.size() && !first_bytes_[static_cast<uint8_t>(text[from])]) ++from;
    return from;
  }

  const AddedTokenRule* LongestAt(std::string_view text, MatchSpecial special) const {
    const AddedTokenRule* longest = nullptr;
    const DoubleArrayTrie trie(units_);
    auto node = trie.root();
    for (const char byte : text) {
      if (!trie.Step(node, static_cast<uint8_t>(byte))) break;
      const int32_t index = trie.Id(node);
      if (index == kNoPiece) continue;
      const AddedTokenRule& rule = rules_[static_cast<size_t>(index)];
      if (special != MatchSpecial::kNo || !rule.special) longest = &rule;
    }
    return longest;
  }

  static constexpr size_t kStartBytes = 4;
  uint32_t StartHash(const char* text) const {
    uint32_t bytes;
    std::memcpy(&bytes, text, kStartBytes);
    return (bytes & start_mask_) * 0x9E3779B1u >> start_shift_;
  }

  std::vector<AddedTokenRule> rules_;
  std::vector<DoubleArrayUnit> units_;
  std::array<bool, 256> first_bytes_ = {};
  size_t shortest_ = 0;
  int single_first_byte_ = -1;  // when all patterns share it
  // A bit for the hash of each pattern's first bytes, up to four of them (as many
  // as all patterns have); empty where looking at the first byte is enough.
  std::vector<uint64_t> starts_;
  uint32_t start_mask_ = 0;
  uint32_t start_shift_ = 0;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_ADDED_TOKENS_H_
