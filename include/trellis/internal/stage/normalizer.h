// Normalizer stages: bytes in, normalized bytes and alignment out.
//
// Alignment follows tokenizers 0.22.2 (tokenizer/normalizer.rs, transform_range
// and replace): each normalized byte carries where the source character it
// stands for begins; that character's length gives the end. Its peculiarities
// are kept on purpose: a character deleted at the very start of a text is not
// counted, so that all later ones are aligned one character too early.
//
// No allocation, no lock. Output sizes are bounded by MaxBytes of each step.
#ifndef TRELLIS_INTERNAL_STAGE_NORMALIZER_H_
#define TRELLIS_INTERNAL_STAGE_NORMALIZER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "trellis/internal/text/alignment.h"
#include "trellis/internal/text/charsmap.h"
#include "trellis/internal/text/grapheme.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

// Whether a text starts here or goes on: only a text's start loses deletions.
enum class TextStart : uint8_t { kStart, kInside };

// Emits characters one behind, because a later deletion changes how the last
// character is aligned.
class AlignmentWriter {
 public:
  AlignmentWriter(const AlignedView& in, TextStart start, AlignedBuffer out) : in_(in), out_(out) {
    if (start == TextStart::kInside) pending_ = Pending::kPhantom;
  }

  // The `old_count` characters at the cursor become `text`.
  void Replace(size_t old_count, std::string_view text) {
    size_t new_count = 0;
    for (const char c : text) new_count += !IsContinuation(static_cast<uint8_t>(c));
    size_t index = 0;
    for (size_t at = 0; at < text.size(); ++index) {
      const uint32_t length = Utf8LengthFromLead(static_cast<uint8_t>(text[at]));
      // Characters beyond the old count are insertions.
      Push(text.data() + at, length, index >= old_count ? 1 : 0);
      at += length;
    }
    if (new_count < old_count && pending_ != Pending::kNone) {
      change_ -= static_cast<int64_t>(old_count - new_count);
    }
  }

  size_t Finish() {
    Flush();
    return size_;
  }

 private:
  enum class Pending : uint8_t { kNone, kPhantom, kCharacter };

  void Push(const char* bytes, uint32_t length, int64_t change) {
    Flush();
    std::memcpy(out_.bytes + size_, bytes, length);
    pending_ = Pending::kCharacter;
    length_ = length;
    change_ = change;
  }

  // Moves over one character of the input.
  void Advance() {
    if (cursor_ >= in_.bytes.size()) return;
    last_ = in_.SourceOf(cursor_);
    cursor_ += DecodeUtf8(in_.bytes.substr(cursor_)).length;
  }

  void Flush() {
    if (pending_ == Pending::kNone) return;
    if (pending_ == Pending::kPhantom) {
      for (; change_ < 0; ++change_) Advance();
      pending_ = Pending::kNone;
      return;
    }
    if (change_ <= 0) {
      Advance();
      const uint32_t source = last_;
      for (; change_ < 0; ++change_) Advance();
      Write(source);
    } else {
      Write(last_);
    }
  }

  void Write(uint32_t source) {
    for (uint32_t i = 0; i < length_; ++i) out_.source[size_ + i] = source;
    size_ += length_;
  }

  AlignedView in_;
  AlignedBuffer out_;
  size_t size_ = 0;
  size_t cursor_ = 0;
  uint32_t last_ = 0;  // source of the character before the cursor
  Pending pending_ = Pending::kNone;
  uint32_t length_ = 0;
  int64_t change_ = 0;
};

// Hugging Face's Precompiled (normalizers/precompiled.rs): a grapheme cluster
// of fewer than 6 bytes is replaced by its *shortest* rule as a whole, what the
// rule does not cover is lost; else character by character.
class PrecompiledStep {
 public:
  explicit PrecompiledStep(std::string_view charsmap) : map_(charsmap) {
    const auto match = map_.Shortest("\uFFFD");
    replacement_bytes_ = match ? match->replacement.size() : 1;
  }

  // A malformed byte counts as the three bytes of U+FFFD.
  size_t MaxBytes(size_t input_bytes) const {
    return input_bytes * std::max({map_.MaxExpansion(), size_t{3}, replacement_bytes_});
  }
  size_t MaxCharacters(size_t input_bytes, size_t /*input_characters*/) const {
    return input_bytes * std::max(map_.MaxCharacterExpansion(), replacement_bytes_);
  }

  size_t Run(const AlignedView& in, TextStart start, AlignedBuffer out) const {
    AlignmentWriter writer(in, start, out);
    std::string_view text = in.bytes;
    Cluster cluster;
    while (!text.empty()) {
      ReadCluster(text, cluster);
      RunCluster(writer, text.substr(0, cluster.source_bytes), cluster);
      text.remove_prefix(cluster.source_bytes);
    }
    return writer.Finish();
  }

  // Characters at the start of a text that are deleted and that the alignment
  // does not count.
  size_t LostCharacters(std::string_view text) const {
    size_t lost = 0;
    Cluster cluster;
    while (!text.empty()) {
      ReadCluster(text, cluster);
      const auto match = map_.Shortest(cluster.bytes());
      const bool whole = cluster.size < kLongCluster;
      if (!match || !match->replacement.empty() || (!whole && cluster.characters > 1)) break;
      lost += cluster.characters;
      text.remove_prefix(cluster.source_bytes);
    }
    return lost;
  }

  const CharsMap& map() const { return map_; }

 private:
  static constexpr size_t kLongCluster = 6;

  // One grapheme cluster: its front as well-formed bytes, all of it while short.
  struct Cluster {
    char text[kLongCluster + kMaxUtf8Bytes];
    size_t size;  // bytes once well formed
    size_t characters;
    size_t source_bytes;
    std::string_view bytes() const { return {text, std::min(size, kLongCluster)}; }
  };

  static void ReadCluster(std::string_view text, Cluster& cluster) {
    GraphemeScanner scanner;
    cluster.size = cluster.characters = cluster.source_bytes = 0;
    while (cluster.source_bytes < text.size()) {
      const Decoded d = DecodeUtf8(text.substr(cluster.source_bytes));
      if (cluster.characters == 0) {
        scanner.Reset(d.code_point);
      } else if (scanner.BoundaryBefore(d.code_point)) {
        break;
      }
      if (cluster.size < kLongCluster) EncodeUtf8(d.code_point, cluster.text + cluster.size);
      cluster.size += Utf8Length(d.code_point);
      ++cluster.characters;
      cluster.source_bytes += d.length;
    }
  }

  void RunCluster(AlignmentWriter& writer, std::string_view source, const Cluster& cluster) const {
    if (cluster.size < kLongCluster) {
      if (const auto match = map_.Shortest(cluster.bytes())) {
        writer.Replace(cluster.characters, match->replacement);
        return;
      }
    }
    while (!source.empty()) {
      const Decoded d = DecodeUtf8(source);
      char one[kMaxUtf8Bytes];
      const std::string_view character(one, EncodeUtf8(d.code_point, one));
      const auto match = map_.Shortest(character);
      writer.Replace(1, match ? match->replacement : character);
      source.remove_prefix(d.length);
    }
  }

  CharsMap map_;
  size_t replacement_bytes_;  // what a malformed byte becomes, at most
};

// tokenizers' Replace for a plain string, and for the pattern " {2,}". Each
// character of the content is aligned with the last character of the match.
// Input must be well formed.
class ReplaceStep {
 public:
  enum class Pattern : uint8_t { kString, kTwoOrMoreBlanks };
  ReplaceStep(Pattern pattern, std::string text, std::string content)
      : pattern_(pattern), text_(std::move(text)), content_(std::move(content)) {}

  size_t MaxBytes(size_t input_bytes) const {
    return input_bytes + input_bytes / shortest() * (content_.size() > shortest() ? content_.size() - shortest() : 0);
  }
  size_t MaxCharacters(size_t input_bytes, size_t input_characters) const {
    if (pattern_ == Pattern::kTwoOrMoreBlanks && content_.size() <= 2) return input_characters;
    return input_characters + input_bytes / shortest() * content_.size();
  }

  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    size_t size = 0;
    for (size_t at = 0; at < in.bytes.size();) {
      const size_t match = MatchLength(in.bytes.substr(at));
      if (match > 0) {
        size_t last = at + match - 1;
        while (last > at && IsContinuation(static_cast<uint8_t>(in.bytes[last]))) --last;
        size = Append(out, size, content_, in.SourceOf(last));
        at += match;
        continue;
      }
      const uint32_t length = Utf8LengthFromLead(static_cast<uint8_t>(in.bytes[at]));
      size = Append(out, size, in.bytes.substr(at, length), in.SourceOf(at));
      at += length;
    }
    return size;
  }

 private:
  size_t shortest() const { return pattern_ == Pattern::kString ? text_.size() : 2; }

  size_t MatchLength(std::string_view text) const {
    if (pattern_ == Pattern::kString) return text.starts_with(text_) ? text_.size() : 0;
    size_t blanks = 0;
    while (blanks < text.size() && text[blanks] == ' ') ++blanks;
    return blanks >= 2 ? blanks : 0;
  }

  static size_t Append(AlignedBuffer out, size_t size, std::string_view bytes, uint32_t source) {
    std::memcpy(out.bytes + size, bytes.data(), bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) out.source[size + i] = source;
    return size + bytes.size();
  }

  Pattern pattern_;
  std::string text_;
  std::string content_;
};

// A copy where malformed subsequences have become U+FFFD, for steps that want
// well-formed text. At most 3 bytes an input byte.
inline size_t RunRepair(const AlignedView& in, AlignedBuffer out) {
  size_t size = 0;
  for (size_t at = 0; at < in.bytes.size();) {
    const Decoded d = DecodeUtf8(in.bytes.substr(at));
    const uint32_t length = EncodeUtf8(d.code_point, out.bytes + size);
    for (uint32_t i = 0; i < length; ++i) out.source[size + i] = in.SourceOf(at);
    size += length;
    at += d.length;
  }
  return size;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_NORMALIZER_H_
