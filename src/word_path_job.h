// WordPath's working state; only its own sources include this.
#ifndef TRELLIS_SRC_WORD_PATH_JOB_H_
#define TRELLIS_SRC_WORD_PATH_JOB_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "src/word_path.h"

namespace trellis::internal {

// Stands for a blank among symbols.
inline constexpr Symbol kBlankSymbol = 0xFFFF;
inline constexpr uint32_t kMaxAlphabet = kBlankSymbol - 1;

// Longer pre-tokens take the exact lattice at once: the margin is computed for
// sums of so many pieces.
inline constexpr uint32_t kMaxFastSymbols = 1024;

// Columns that are always there; words of more bytes take their own.
inline constexpr size_t kUsualWordBytes = 1024;

// Words that are looked up and go through the lattice together.
inline constexpr uint32_t kBatch = 64;
// EmitKnown's answer when there is no room for a word's tokens.
inline constexpr size_t kNoWord = ~size_t{0};

// Most words have few tokens, and a call (or what compilers make of a loop)
// costs more than a fixed copy. Up to 3 elements behind either end must be
// readable and, while there is room, are overwritten.
template <typename T>
void CopyFew(const T* from, size_t count, T* to, size_t room) {
  if (count <= 4 && room >= 4) {
    std::memcpy(to, from, 4 * sizeof(T));
  } else {
    std::memcpy(to, from, count * sizeof(T));
  }
}

// Scratch of words; positions[i] is where symbol i's source character begins. The tokens of a path, found from its
// end, take the places of units and keys that have been read: no path has more tokens than symbols.
struct WordPath::WordColumns {
  SymbolColumns lattice;
  uint32_t* positions;
};
static_assert(sizeof(TokenId) == sizeof(uint32_t) && sizeof(Offset) == sizeof(LatticeKey));

// One Run.
struct WordPath::Job {
  const TextSegment& segment;
  MatchSpecial special;
  ScratchCarver& carver;
  std::optional<WordCache> cache;
  TokenSink& sink;

  WordColumns batch = {};    // words that go through the lattice together
  WordColumns columns = {};  // one that goes alone
  uint32_t gap_begin = 0;  // the end of the last word seen
  // The word at hand has tokens that depend on its own bytes alone and are what
  // they are without the shield: they may be remembered.
  bool memorable = true;


  // SentencePiece's dialect: the reference's sum so far, and where the last token
  // ends, which is where the next begins; kNone before the first.
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  float sum = 0.0F;
  uint32_t token_end = kNone;
  float word_sum = 0.0F;        // before the word at hand
  double reach = 0.0;           // of that word
  bool needs_plain = false;     // Reading::kWholeText was found

  std::string_view source() const { return segment.source; }
};

// One batch of words: where each one's tokens come from, and what is needed to
// get them.
struct WordPath::Batch {
  struct Probe {
    WordKey key;
    uint64_t hash;    // of the whole word, for the cache; 0: none yet
    uint32_t slot;    // in the word table; kNowhere: cannot be there
    uint16_t length;  // of the key
    uint16_t mark;    // 1 + the punctuation that was cut off; 0: none
  };
  enum class From : uint8_t { kTable, kCache, kLattice, kAlone };
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;

  std::span<const Words> words;
  uint32_t gap_begin;  // where the blanks before the first word begin
  uint64_t lone;       // bit i: lone markers come before word i
  Probe probes[kBatch];
  From from[kBatch];
  struct InTable {
    TokenId id;
    uint16_t reach;
  };
  union Known {
    InTable in_table;        // of kTable
    WordCache::Found found;  // of kCache
    uint8_t range;           // of kLattice
    Known() {}
  };
  Known known[kBatch];
  SymbolRange ranges[kBatch];
  double reaches[kBatch];  // of the ranges, where sums go on
  uint32_t range_count;
  uint32_t symbols;  // used of the batch's column

  static bool IsFor(const WordEntry& entry, const Probe& probe) {
    // Bit 0 stands for no punctuation behind.
    const bool certified = ((entry.punctuation << 1 | 1) >> probe.mark & 1) != 0;
    return entry.key == probe.key && entry.length == probe.length && certified;
  }
  uint32_t GapBegin(size_t i) const { return i == 0 ? gap_begin : words[i - 1].end; }
};
static_assert(kBatch <= 64);

// Where sums go on. The reference's shift makes the way that it looks at zero, and a better way, which it has not come
// to yet, more than that: what a reach says is of sums that are not above zero only.
inline float FarFromZero(float sum) { return std::max(0.0F, -sum); }
inline bool Holds(float sum, double reach) { return sum <= 0.0F && -sum <= reach; }

// Before each word that goes through a lattice.
inline void WordPath::StartWord(Job& job) {
  job.word_sum = job.sum;
  job.reach = std::numeric_limits<double>::max();
}

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_WORD_PATH_JOB_H_
