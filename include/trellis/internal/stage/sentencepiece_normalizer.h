// SentencePiece's normalizer: caller's bytes to the bytes its lattice reads.
//
// Whose truth: sentencepiece 0.2.3, normalizer.cc. From the left, each step
// takes the longest user-defined piece (left as it is), else the longest
// charsmap rule, else one character, else one byte of malformed UTF-8, which
// becomes U+FFFD *after* the rules (so a rule for a real U+FFFD does not see it).
// Blanks are then squeezed, replaced and put in front or behind as the flags say.
//
// Invariant: reads only `text`, writes only the spans given, no allocation; the
// alignment never goes down and stays within text.size(); output length is at
// most MaxNormalizedBytes(text.size()).
#ifndef TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_NORMALIZER_H_
#define TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_NORMALIZER_H_

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "trellis/internal/text/charsmap.h"
#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/internal/trie/bitmap_trie.h"

namespace trellis::internal {

struct SentencePieceBlanks {
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false;
};

// What does the rewriting: built at load, immutable.
class SentencePieceRewriter {
 public:
  struct Step {
    size_t length;  // bytes of the text, at least 1
    std::string_view text;
  };

  // `user_defined` holds the user-defined pieces, or is null when there are
  // none; it must outlive this object.
  SentencePieceRewriter(CharsMap charsmap, const BitmapTrie* user_defined)
      : charsmap_(std::move(charsmap)), user_defined_(user_defined) {
    plain_.set();
    for (unsigned first = 0; first < plain_.size(); ++first) {
      if (AsciiStartsKey(static_cast<char>(first))) plain_.reset(first);
    }
    for (unsigned first = 0; user_defined_ != nullptr && first < plain_.size(); ++first) {
      BitmapTrie::Node node = user_defined_->root();
      if (user_defined_->Step(node, static_cast<uint8_t>(first))) plain_.reset(first);
    }
  }

  // What becomes of the front of a non-empty text.
  Step Next(std::string_view text) const {
    const auto first = static_cast<uint8_t>(text[0]);
    if (first < 0x80 && plain_[first] && (text.size() == 1 || static_cast<uint8_t>(text[1]) < 0x80)) {
      return {1, text.substr(0, 1)};
    }
    if (const size_t length = UserDefinedPrefix(text)) return {length, text.substr(0, length)};
    if (const std::optional<CharsMap::Match> match = charsmap_.Longest(text)) return {match->length, match->replacement};
    const Decoded decoded = DecodeUtf8(text);
    if (!decoded.well_formed) return {1, kReplacementUtf8};
    return {decoded.length, text.substr(0, decoded.length)};
  }

  const CharsMap& charsmap() const { return charsmap_; }
  // The most bytes that one byte of text can become, blanks escaped.
  size_t max_expansion() const {
    // A blank becomes three bytes, and so does a malformed byte.
    return std::max(charsmap_.MaxEscapedExpansion(), kMetaSpace.size());
  }
  // The most characters that one byte of text can become.
  size_t max_characters() const { return charsmap_.MaxCharacterExpansion(); }

 private:
  // Whether there is a key of this byte, which is ASCII, alone or with more ASCII behind it.
  bool AsciiStartsKey(char first) const {
    if (charsmap_.Shortest({&first, 1})) return true;
    if (!charsmap_.StartsKey({&first, 1})) return false;
    for (unsigned second = 1; second < plain_.size(); ++second) {
      const char key[] = {first, static_cast<char>(second)};
      if (charsmap_.StartsKey({key, 2})) return true;
    }
    return false;
  }

  size_t UserDefinedPrefix(std::string_view text) const {
    if (user_defined_ == nullptr) return 0;
    // SentencePiece looks at the 64 shortest matches only (PrefixMatcher).
    constexpr int kMostMatches = 64;
    int matches = 0;
    size_t longest = 0;
    BitmapTrie::Node node = user_defined_->root();
    for (size_t i = 0; i < text.size() && user_defined_->Step(node, static_cast<uint8_t>(text[i])); ++i) {
      if (user_defined_->Id(node) == kNoPiece) continue;
      longest = i + 1;
      if (++matches == kMostMatches) break;
    }
    return longest;
  }

  CharsMap charsmap_;
  const BitmapTrie* user_defined_;
  std::bitset<128> plain_;  // ASCII that stays as it is when ASCII or nothing follows
};

// No text of `text_bytes` normalizes to more.
inline size_t MaxNormalizedBytes(const SentencePieceRewriter& rewriter, size_t text_bytes) {
  return text_bytes * rewriter.max_expansion() + kMetaSpace.size();
}

// Where normalized bytes go. With an empty `alignment` none is written; else it
// must have one element more than `bytes`.
struct SentencePieceNormalized {
  std::span<char> bytes;
  std::span<uint32_t> alignment = {};
};

// One run over one text; use NormalizeSentencePiece.
class SentencePieceNormalizerRun {
 public:
  SentencePieceNormalizerRun(const SentencePieceRewriter& rewriter, const SentencePieceBlanks& blanks,
                             const SentencePieceNormalized& out)
      : rewriter_(rewriter), blanks_(blanks), out_(out), space_(blanks.escape_whitespaces ? kMetaSpace : " ") {}

  std::optional<size_t> Run(std::string_view text) {
    size_t consumed = 0;
    if (blanks_.remove_extra_whitespaces) consumed = LeadingBlanks(text);
    if (consumed == text.size()) return 0;  // nothing but blanks: not even the dummy
    const bool dummy_in_front = blanks_.add_dummy_prefix && !blanks_.treat_whitespace_as_suffix;
    if (dummy_in_front && !Put(space_, consumed)) return std::nullopt;

    bool after_blank = blanks_.remove_extra_whitespaces;
    while (consumed < text.size()) {
      const SentencePieceRewriter::Step step = rewriter_.Next(text.substr(consumed));
      std::string_view piece = step.text;
      while (after_blank && piece.starts_with(' ')) piece.remove_prefix(1);
      for (const char& c : piece) {
        if (!Put(c == ' ' ? space_ : std::string_view(&c, 1), consumed)) return std::nullopt;
      }
      if (!piece.empty()) after_blank = blanks_.remove_extra_whitespaces && piece.ends_with(' ');
      consumed += step.length;
    }

    if (blanks_.remove_extra_whitespaces) consumed = DropTrailingBlanks(consumed);
    const bool dummy_behind = blanks_.add_dummy_prefix && blanks_.treat_whitespace_as_suffix;
    if (dummy_behind && !Put(space_, consumed)) return std::nullopt;
    if (!out_.alignment.empty()) out_.alignment[size_] = static_cast<uint32_t>(consumed);
    return size_;
  }

 private:
  size_t LeadingBlanks(std::string_view text) const {
    size_t at = 0;
    while (at < text.size()) {
      const SentencePieceRewriter::Step step = rewriter_.Next(text.substr(at));
      if (step.text != " ") break;
      at += step.length;
    }
    return at;
  }

  bool Put(std::string_view bytes, size_t source) {
    if (out_.bytes.size() - size_ < bytes.size()) return false;
    for (const char c : bytes) {
      out_.bytes[size_] = c;
      if (!out_.alignment.empty()) out_.alignment[size_] = static_cast<uint32_t>(source);
      ++size_;
    }
    return true;
  }

  // Also takes the dummy prefix when nothing came after it. Returns where the
  // source of what is left ends.
  size_t DropTrailingBlanks(size_t consumed) {
    while (std::string_view(out_.bytes.data(), size_).ends_with(space_)) {
      size_ -= space_.size();
      if (!out_.alignment.empty()) consumed = out_.alignment[size_];
    }
    return consumed;
  }

  const SentencePieceRewriter& rewriter_;
  const SentencePieceBlanks& blanks_;
  const SentencePieceNormalized out_;
  const std::string_view space_;
  size_t size_ = 0;
};

// Normalizes `text` and returns the number of bytes; nullopt when they do not
// fit. alignment[i] is where in `text` the rewriting that made byte i begins;
// alignment[count] is the end. An empty result writes no alignment.
inline std::optional<size_t> NormalizeSentencePiece(const SentencePieceRewriter& rewriter,
                                                    const SentencePieceBlanks& blanks, std::string_view text,
                                                    const SentencePieceNormalized& out) {
  return SentencePieceNormalizerRun(rewriter, blanks, out).Run(text);
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_NORMALIZER_H_
