// Symbol lattice where the reference's sums are float and start far from zero
// (SentencePiece's: sentencepiece_unigram.h says what they are): the fast one,
// which says how far from zero its choices hold, and the exact one.
//
// What rounding can do. Let S <= 0 be the reference's sum before a pre-token, and
// let all sums in it stay above -2^c. Each addition then rounds by at most half a
// unit in the last place, 2^(c-25). Two ways to one position share the reference's
// very sum up to where they part, so their difference is off by at most 2^(c-25)
// for each addition behind that fork; ours in turn by the rounding of one cost for
// each. A comparison whose integer difference exceeds so much comes out as the
// reference's float comparison, and strictly; when all do, so does the path,
// whatever S is. The closest comparison (difference over additions) so decides
// the largest c, and c the S.
#ifndef TRELLIS_INTERNAL_STAGE_FLOAT_SYMBOL_LATTICE_H_
#define TRELLIS_INTERNAL_STAGE_FLOAT_SYMBOL_LATTICE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "trellis/encoding.h"
#include "trellis/internal/stage/symbol_lattice.h"

namespace trellis::internal {

// Of one model; costs are the trie's.
struct FloatCosts {
  double unit = 1.0;      // costs per score, at least 2^10
  double rounding = 0.0;  // the most that a cost is off
  double highest = 0.0;   // no score, nor the unknown's, is below -highest

  // The most that one addition puts a sum above -2^c off, in the trie's unit.
  double OffPerAddition(int c) const { return rounding + std::ldexp(unit, c - 25); }
};

// The reference's arithmetic on one model.
struct FloatScores {
  std::span<const float> scores;  // by id
  float unk_score = 0.0F;
  TokenId unk_id = kNoPiece;
};

// The reference shifts sums beyond back to zero; they stay above -2^17.
inline constexpr double kFarthestSum = 100000.0;
inline constexpr int kHighestClass = 17;
// Holds before no sum at all.
inline constexpr double kHoldsNowhere = -1.0;

// Pieces of the best way to `a` and of that to `b` behind the last position that
// both ways share.
inline uint32_t PiecesSinceFork(const LatticeKey* keys, uint32_t a, uint32_t b) {
  uint32_t pieces = 0;
  while (a != b) {
    uint32_t& later = a > b ? a : b;
    later -= static_cast<uint32_t>(keys[later] & kLengthMask);
    ++pieces;
  }
  return pieces;
}

// RunSymbolLattice that returns how far below zero the sum before the pre-token
// may be for the reference to find the same path and shift nothing on it; at
// most what class `c` allows. Negative: its choices hold nowhere.
inline double RunFarSymbolLattice(const CharTrie& trie, const SymbolColumns& columns, uint32_t count,
                                  const FloatCosts& costs, int c) {
  // Differences beyond this are far enough for any number of additions.
  const double widest = std::ceil(2.0 * count * costs.OffPerAddition(c));
  const auto low = static_cast<uint64_t>(widest) << kLengthBits | static_cast<uint64_t>(kLengthMask);
  double closest = std::numeric_limits<double>::infinity();
  RelaxSymbols(trie, columns, count, [&](LatticeKey candidate, LatticeKey best, uint32_t at, uint32_t length) {
    if (static_cast<uint64_t>(candidate - best) + low > 2 * low) [[likely]] return;
    const auto last = static_cast<uint32_t>(best & kLengthMask);
    const uint32_t additions = 2 + PiecesSinceFork(columns.keys, at + length - last, at);
    const LatticeKey difference = (candidate >> kLengthBits) - (best >> kLengthBits);
    closest = std::min(closest, static_cast<double>(std::abs(difference)) / additions);
  });

  // How much further from zero sums can get inside. On the way to any position
  // there is a path of single symbols, so that no best sum is lower than theirs;
  // a candidate has one more piece. Long pre-tokens are looked at closer.
  constexpr uint32_t kLong = 64;
  double reach = costs.highest * count;
  if (count > kLong) {
    LatticeKey lowest = 0;
    for (uint32_t i = 1; i <= count; ++i) lowest = std::min(lowest, columns.keys[i]);
    reach = std::min(reach, static_cast<double>(-(lowest >> kLengthBits)) / costs.unit + costs.highest);
  }
  reach += 1.0 + count * 0x1p-7;  // the roundings of sums and of costs, and of what callers make of the result
  for (; std::ldexp(1.0, c) > reach; --c) {
    if (costs.OffPerAddition(c) < closest) return std::min(std::ldexp(1.0, c), kFarthestSum) - reach;
  }
  return kHoldsNowhere;
}

// The reference's arithmetic, order and shift on the same trie, from the sum
// `before` on; returns the sum behind. Keys hold lengths only.
inline float RunFloatSymbolLattice(const CharTrie& trie, const FloatScores& model, const SymbolColumns& columns,
                                   uint32_t count, float before) {
  for (uint32_t i = 0; i <= count; ++i) columns.keys[i] = 0;  // length 0: unreached
  RecentSums<float> sums;
  sums[0] = before;
  uint32_t frontier = 0;
  for (uint32_t at = 0; at < count; ++at) {
    float so_far = sums[at];
    if (so_far < -static_cast<float>(kFarthestSum)) {
      for (uint32_t i = at; i <= frontier; ++i) sums[i] -= so_far;
      so_far = 0.0F;
    }
    const auto relax = [&](uint32_t length, uint32_t index, float score) {
      frontier = std::max(frontier, at + length);
      const float candidate = score + so_far;
      float& best = sums[at + length];
      if (columns.keys[at + length] != 0 && !(candidate > best)) return;
      best = candidate;
      columns.keys[at + length] = length;
      columns.units[at + length] = index;
    };
    const uint32_t first = columns.symbols[at];
    const TokenId id = trie.units[first].id;
    if (id == model.unk_id) {
      relax(1, kUnknownSymbol, model.unk_score);
    } else {
      relax(1, first, model.scores[static_cast<size_t>(id)]);
    }
    ForEachLongerPiece(trie, columns.symbols + at, [&](uint32_t length, uint32_t index, TokenId piece) {
      relax(length, index, model.scores[static_cast<size_t>(piece)]);
    });
  }
  return sums[count];
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_FLOAT_SYMBOL_LATTICE_H_
