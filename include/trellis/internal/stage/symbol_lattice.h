// Symbol lattice: the fast Viterbi over the alphabet's numbers, and the exact
// one on the same trie.
//
// Fast: costs are integers (scores in a unit chosen at load, rounded), so sums
// do not depend on order. A comparison decides only when the two sums differ by
// more than `margin`, the most that rounding (ours and the reference's) can move
// a difference; otherwise the lattice reports a close call, and the caller takes
// the exact one, which adds doubles in the reference's order (see unigram.h).
//
// A fresh text's walks miss the caches, and each step waits for the last. So the
// first steps of many walks are sent for together (SendFor...Units, SentWalk)
// before any lattice runs.
//
// Invariants: each pre-token is followed by kUnknownSymbol, so that walks end,
// and none goes beyond kMaxPieceSymbols, whatever the trie; pieces cover all symbols; results of both agree unless a call was close.
#ifndef TRELLIS_INTERNAL_STAGE_SYMBOL_LATTICE_H_
#define TRELLIS_INTERNAL_STAGE_SYMBOL_LATTICE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "trellis/internal/stage/unigram.h"
#include "trellis/internal/trie/char_trie.h"

namespace trellis::internal {

// Best way to a position: sum of costs, negated, above the last piece's length
// in symbols, so that one comparison of keys prefers the better sum and, of
// equal sums, the way found first from the left (the longer last piece).
using LatticeKey = int64_t;
inline constexpr int kLengthBits = 6;
inline constexpr LatticeKey kLengthMask = (1 << kLengthBits) - 1;
inline constexpr uint32_t kMaxPieceSymbols = 32;

// Scratch of one word; each column has room for `symbols` + 1 elements.
struct SymbolColumns {
  Symbol* symbols;
  LatticeKey* keys;
  uint32_t* units;  // of the last piece of the best way to a position
};

enum class Closeness : uint8_t { kClear, kClose };

// Sends for the second units of walks from symbols[0, count); symbols[count]
// must be readable. Where a walk has ended, nothing new is sent for.
inline void SendForSecondUnits(const CharTrie& trie, const Symbol* symbols, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const CharUnit& first = trie.units[symbols[i]];
    __builtin_prefetch(trie.units + (first.MayHaveChild(symbols[i + 1]) ? first.base + symbols[i + 1] : symbols[i]));
  }
}

// The same for the third, once the second are there; symbols[count + 1] must be
// readable.
inline void SendForThirdUnits(const CharTrie& trie, const Symbol* symbols, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const CharUnit& first = trie.units[symbols[i]];
    const uint32_t second = first.MayHaveChild(symbols[i + 1]) ? first.base + symbols[i + 1] : symbols[i];
    const CharUnit& unit = trie.units[second];
    const bool child = unit.check == symbols[i + 1] && unit.MayHaveChild(symbols[i + 2]);
    __builtin_prefetch(trie.units + (child ? unit.base + symbols[i + 2] : second));
  }
}

// One walk that goes on in turns with others: each turn takes the unit that the
// last one sent for.
struct SentWalk {
  uint32_t unit;  // kUnknownSymbol: ended
  void Step(const CharTrie& trie, Symbol last, Symbol next) {
    const CharUnit& here = trie.units[unit];
    const bool child = here.check == last && here.MayHaveChild(next);
    unit = child ? here.base + next : kUnknownSymbol;
    __builtin_prefetch(trie.units + unit);
  }
};

// One pre-token in the symbol column.
struct SymbolRange {
  uint32_t begin;
  uint32_t end;  // of the symbols; the unknown symbol is at `end`
  Closeness closeness;
};

// Long pre-tokens send for what comes next as they go: the caller has sent for
// the second units up to 2 kAhead and for the third up to kAhead.
inline constexpr uint32_t kAhead = 32;
inline void SendAhead(const CharTrie& trie, const Symbol* symbols, uint32_t at, uint32_t count) {
  const auto part = [&](uint32_t begin) { return begin < count ? std::min(kAhead, count - begin) : 0; };
  const uint32_t third = at + kAhead, second = at + 2 * kAhead;
  if (third >= count) return;
  if (const uint32_t size = part(second); size > 0) SendForSecondUnits(trie, symbols + second, size);
  // The last symbol has no third.
  const uint32_t size = part(third);
  SendForThirdUnits(trie, symbols + third, third + size == count ? size - 1 : size);
}

// Fills keys and units for symbols[0, count). Calls see(candidate, best, at,
// length) before each choice between the best way so far to `at` + `length` and
// the one whose last piece begins at `at`.
template <typename See>
inline void RelaxSymbols(const CharTrie& trie, const SymbolColumns& columns, uint32_t count, See&& see) {
  const CharUnit* const units = trie.units;
  LatticeKey* const keys = columns.keys;
  uint32_t* const last = columns.units;
  constexpr LatticeKey kUnreached = std::numeric_limits<LatticeKey>::min() / 2;
  for (uint32_t i = 1; i <= count; ++i) keys[i] = kUnreached;
  keys[0] = 0;
  for (uint32_t at = 0; at < count; ++at) {
    if (at % kAhead == 0) SendAhead(trie, columns.symbols, at, count);
    const LatticeKey so_far = keys[at] & ~kLengthMask;
    const Symbol* const symbol = columns.symbols + at;
    LatticeKey* const key = keys + at;
    uint32_t* const unit_of = last + at;
    uint32_t index = symbol[0];
    const CharUnit* unit = units + index;
    const auto relax = [&](uint32_t length) {
      const LatticeKey candidate =
          so_far - (static_cast<LatticeKey>(unit->cost) << kLengthBits) + static_cast<LatticeKey>(length);
      const LatticeKey best = key[length];
      see(candidate, best, at, length);
      const bool better = candidate > best;
      key[length] = better ? candidate : best;
      unit_of[length] = better ? index : unit_of[length];
    };
    relax(1);
    for (uint32_t length = 1; length < kMaxPieceSymbols;) {
      const Symbol next = symbol[length];
      if (!unit->MayHaveChild(next)) break;
      index = unit->base + next;
      unit = units + index;
      if (unit->check != next) break;
      ++length;
      if (unit->cost != CharUnit::kNoCost) relax(length);
    }
  }
}

inline Closeness RunSymbolLattice(const CharTrie& trie, const SymbolColumns& columns, uint32_t count, int64_t margin) {
  uint64_t close = 0;
  // |difference| <= margin, as one unsigned comparison. Keys hold lengths too.
  const auto low = static_cast<uint64_t>(margin) << kLengthBits | static_cast<uint64_t>(kLengthMask);
  const uint64_t width = 2 * low;
  RelaxSymbols(trie, columns, count, [&](LatticeKey candidate, LatticeKey best, uint32_t, uint32_t) {
    close |= static_cast<uint64_t>(candidate - best) + low <= width;
  });
  return close != 0 ? Closeness::kClose : Closeness::kClear;
}

// Calls f(length, unit, id) for each piece of more than one symbol that begins at symbols[0].
template <typename F>
void ForEachLongerPiece(const CharTrie& trie, const Symbol* symbols, F&& f) {
  uint32_t index = symbols[0];
  for (uint32_t length = 1; length < kMaxPieceSymbols;) {
    const CharUnit& unit = trie.units[index];
    const Symbol next = symbols[length];
    if (!unit.MayHaveChild(next)) return;
    index = unit.base + next;
    if (trie.units[index].check != next) return;
    ++length;
    if (trie.units[index].cost != CharUnit::kNoCost) f(length, index, trie.units[index].id);
  }
}

// Sums of the positions that a piece can reach from the one at hand, each in the place of one left behind.
template <typename Sum>
class RecentSums {
 public:
  Sum& operator[](uint32_t at) { return sums_[at % kSums]; }

 private:
  static constexpr uint32_t kSums = 2 * kMaxPieceSymbols;  // a power of two
  std::array<Sum, kSums> sums_ = {};
};

// The reference's arithmetic and order on the same trie; keys hold lengths only.
// `allowed(id)` is false for pieces that must not come out of text. The unknown id
// must exist and be no one-symbol piece.
template <typename Allowed>
void RunExactSymbolLattice(const CharTrie& trie, const UnigramScores& model, const SymbolColumns& columns,
                           uint32_t count, Allowed allowed) {
  for (uint32_t i = 0; i <= count; ++i) columns.keys[i] = 0;  // length 0: unreached
  RecentSums<double> sums;
  for (uint32_t at = 0; at < count; ++at) {
    const double so_far = sums[at];
    const auto relax = [&](uint32_t length, uint32_t index, double score) {
      const double candidate = score + so_far;
      double& best = sums[at + length];
      if (columns.keys[at + length] != 0 && !(candidate > best)) return;
      best = candidate;
      columns.keys[at + length] = length;
      columns.units[at + length] = index;
    };
    const uint32_t first = columns.symbols[at];
    const TokenId id = trie.units[first].id;
    if (id == model.unk_id || !allowed(id)) {
      relax(1, kUnknownSymbol, model.unk_score);
    } else {
      relax(1, first, model.scores[static_cast<size_t>(id)]);
    }
    ForEachLongerPiece(trie, columns.symbols + at, [&](uint32_t length, uint32_t index, TokenId piece) {
      if (allowed(piece)) relax(length, index, model.scores[static_cast<size_t>(piece)]);
    });
  }
}

// The best path that either lattice left in the columns, from the end: calls
// f(begin, end, id) for each piece, last first; neighbouring unknown pieces are
// one call.
template <typename F>
void ForEachPieceBackwards(const CharTrie& trie, const SymbolColumns& columns, TokenId unk_id, uint32_t count, F&& f) {
  uint32_t end = count;
  while (end > 0) {
    const TokenId id = trie.units[columns.units[end]].id;
    uint32_t begin = end - static_cast<uint32_t>(columns.keys[end] & kLengthMask);
    if (id == unk_id) {
      while (begin > 0 && trie.units[columns.units[begin]].id == unk_id) {
        begin -= static_cast<uint32_t>(columns.keys[begin] & kLengthMask);
      }
    }
    f(begin, end, id);
    end = begin;
  }
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_SYMBOL_LATTICE_H_
