// Metaspace: the pre-tokenizer that writes a new text, since blanks grow into the
// replacement (tokenizers 0.22.2, pre_tokenizers/metaspace.rs). Those that only
// cut are in split.h.
//
// Reads ranges of one text and writes ranges, in order and not empty. Input is
// well-formed UTF-8. No allocation, no lock.
#ifndef TRELLIS_INTERNAL_STAGE_PRE_TOKENIZER_H_
#define TRELLIS_INTERNAL_STAGE_PRE_TOKENIZER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "trellis/internal/stage/pre_token.h"
#include "trellis/internal/text/alignment.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis::internal {

class MetaspaceStep {
 public:
  explicit MetaspaceStep(const MetaspacePreTokenizer& spec)
      : replacement_(spec.replacement), scheme_(spec.prepend_scheme), split_(spec.split) {}

  struct Sizes {
    size_t bytes;
    size_t pre_tokens;
  };

  // What Run writes at most: each blank becomes a replacement, and each range may get
  // one in front.
  Sizes Room(const AlignedView& text, std::span<const PreToken> in) const {
    size_t bytes = in.size() * replacement_.size();
    for (const PreToken& range : in) {
      const std::string_view part = text.bytes.substr(range.begin, range.end - range.begin);
      bytes += part.size() + static_cast<size_t>(std::count(part.begin(), part.end(), ' ')) * (replacement_.size() - 1);
    }
    return {bytes, PreTokens(bytes, in.size())};
  }
  // No more pre-tokens than this have so many bytes: each but a range's first begins with a replacement, and where
  // one is put in front of every range, so does that.
  size_t PreTokens(size_t bytes, size_t ranges) const {
    if (!split_) return ranges;
    return (scheme_ == PrependScheme::kAlways ? 0 : ranges) + bytes / replacement_.size();
  }

  // Writes the new text to `out_text` and its ranges to `out`; both need their Room.
  Sizes Run(const AlignedView& text, std::span<const PreToken> in, AlignedBuffer out_text,
            std::span<PreToken> out) const {
    Sizes sizes{0, 0};
    for (const PreToken& range : in) {
      const auto begin = static_cast<uint32_t>(sizes.bytes);
      const std::string_view bytes = text.bytes.substr(range.begin, range.end - range.begin);
      const bool marked = bytes.starts_with(' ') || bytes.starts_with(replacement_);
      const bool wanted = scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && range.source == 0);
      if (!marked && wanted) Append(out_text, sizes.bytes, replacement_, text.SourceOf(range.begin));
      for (uint32_t at = range.begin; at < range.end;) {
        const uint32_t length = Utf8LengthFromLead(static_cast<uint8_t>(text.bytes[at]));
        const bool blank = text.bytes[at] == ' ';
        Append(out_text, sizes.bytes, blank ? std::string_view(replacement_) : text.bytes.substr(at, length),
               text.SourceOf(at));
        at += length;
      }
      Cut({out_text.bytes, sizes.bytes}, begin, range, out_text.source, out, sizes.pre_tokens);
    }
    return sizes;
  }

  const std::string& replacement() const { return replacement_; }

 private:
  static void Append(AlignedBuffer out, size_t& size, std::string_view bytes, uint32_t source) {
    std::memcpy(out.bytes + size, bytes.data(), bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) out.source[size + i] = source;
    size += bytes.size();
  }

  // One pre-token, or one in front of each replacement.
  void Cut(std::string_view text, uint32_t begin, const PreToken& range, const uint32_t* source,
           std::span<PreToken> out, size_t& count) const {
    const auto end = static_cast<uint32_t>(text.size());
    if (begin == end) return;
    if (!split_) {
      out[count++] = {begin, end, range.source};
      return;
    }
    while (begin < end) {
      // The character at `begin` is the replacement or the range's first: the
      // next cut is behind it.
      const size_t next = text.find(replacement_, begin + 1);
      const uint32_t stop = next == std::string_view::npos ? end : static_cast<uint32_t>(next);
      out[count++] = {begin, stop, source[begin]};
      begin = stop;
    }
  }

  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_PRE_TOKENIZER_H_
