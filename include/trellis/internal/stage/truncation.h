// Truncation: how many tokens of each text stay, and the windows that the rest
// makes (tokenizers 0.22.2, utils/truncation.rs, truncate_encodings, and
// tokenizer/encoding.rs, truncate).
#ifndef TRELLIS_INTERNAL_STAGE_TRUNCATION_H_
#define TRELLIS_INTERNAL_STAGE_TRUNCATION_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "trellis/tokenizer.h"

namespace trellis::internal {

struct KeptTokens {
  size_t first;
  size_t second;
};

// `first` and `second` are the token counts of the texts, `room` what max_length
// leaves for them once the specials are in. nullopt: the strategy cannot be met.
inline std::optional<KeptTokens> RunTruncation(Truncate strategy, size_t room, size_t first,
                                               std::optional<size_t> second) {
  const size_t other = second.value_or(0);
  if (strategy == Truncate::kNever || first + other <= room) return KeptTokens{first, other};
  // The reference clears both texts here, whatever the strategy.
  if (room == 0) return KeptTokens{0, 0};
  const size_t excess = first + other - room;
  switch (strategy) {
    case Truncate::kNever:
      break;
    case Truncate::kLongestFirst: {
      if (!second) return KeptTokens{room, 0};
      size_t shorter = std::min(first, other);
      size_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
      if (shorter + longer > room) {
        shorter = room / 2;
        longer = shorter + room % 2;
      }
      return first > other ? KeptTokens{longer, shorter} : KeptTokens{shorter, longer};
    }
    case Truncate::kOnlyFirst:
      if (first <= excess) return std::nullopt;
      return KeptTokens{first - excess, other};
    case Truncate::kOnlySecond:
      if (!second || other <= excess) return std::nullopt;
      return KeptTokens{first, other - excess};
  }
  return std::nullopt;
}

// A part of a text's tokens.
struct TokenWindow {
  size_t begin;
  size_t end;
  friend bool operator==(const TokenWindow&, const TokenWindow&) = default;
};

// The windows of one text: what stays, then the overflow.
class TextWindows {
 public:
  TextWindows() = default;
  TextWindows(size_t tokens, size_t kept, size_t stride, Side side)
      : tokens_(tokens), kept_(kept), step_(kept - std::min(kept, stride)), side_(side) {}

  // Whether the stride leaves a window anything new; the reference panics here.
  bool CanAdvance() const { return kept_ == tokens_ || kept_ == 0 || step_ != 0; }
  size_t count() const {
    if (kept_ == tokens_) return 1;
    // Nothing stays: the reference then keeps all that was cut in one piece.
    return kept_ == 0 ? 2 : 1 + (tokens_ - kept_ + step_ - 1) / step_;
  }
  TokenWindow operator[](size_t i) const {
    if (kept_ == 0) return {0, i == 0 ? 0 : tokens_};
    if (side_ == Side::kRight) return {i * step_, std::min(i * step_ + kept_, tokens_)};
    const size_t end = tokens_ - i * step_;
    return {end - std::min(end, kept_), end};
  }

 private:
  size_t tokens_ = 0;
  size_t kept_ = 0;
  size_t step_ = 0;
  Side side_ = Side::kRight;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_TRUNCATION_H_
