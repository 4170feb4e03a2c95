// WordPath's working state; only its own sources include this.
#ifndef TRELLIS_SRC_WORD_PATH_JOB_H_
#define TRELLIS_SRC_WORD_PATH_JOB_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/word_path.h"

namespace trellis::internal {

// Stands for a blank among symbols.
inline constexpr Symbol kBlankSymbol = 0xFFFF;

// Longer pre-tokens take the exact lattice at once: the margin is computed for
// sums of so many pieces.
inline constexpr uint32_t kMaxFastSymbols = 1024;

// Scratch of words; positions[i] is where symbol i's source character begins.
struct WordPath::WordColumns {
  SymbolColumns lattice;
  uint32_t* positions;
  TokenId* path_ids;
  Offset* path_offsets;
};

// One Run.
struct WordPath::Job {
  const TextSegment& segment;
  MatchSpecial special;
  ScratchCarver& carver;
  std::optional<WordCache> cache;
  TokenSink& sink;

  WordColumns batch = {};    // words that go through the lattice together
  WordColumns columns = {};  // one that goes alone
  // The word at hand has tokens that depend on its own bytes alone and are what
  // they are without the shield: they may be remembered.
  bool memorable = true;

  std::string_view source() const { return segment.source; }
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_WORD_PATH_JOB_H_
