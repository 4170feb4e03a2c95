// Truncation: how many tokens of each text stay (tokenizers 0.22.2,
// utils/truncation.rs, truncate_encodings).
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

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_TRUNCATION_H_
