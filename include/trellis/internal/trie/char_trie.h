// CharTrie: a double array over symbols (characters of the model's alphabet,
// numbered), 8 bytes a unit, with the piece's cost inside.
//
//   bits 0..15   check: the symbol that leads here (0 in free units, and no
//                piece has symbol 0)
//   bits 16..36  base: child of symbol s is unit base + s
//   bits 37..63  cost of the piece that ends here: -score in the trie's unit;
//                kNoCost where none ends
//
// Unit s, for every symbol s, is the root's child; those all exist, and where a
// character is no piece of its own its unit has the cost and id of the unknown
// piece. Every other base is used once, so the symbol alone proves the parent.
// Ids lie beside, since only the pieces of the best path need theirs.
//
// Invariant: base + symbol is inside for every base and every symbol.
#ifndef TRELLIS_INTERNAL_TRIE_CHAR_TRIE_H_
#define TRELLIS_INTERNAL_TRIE_CHAR_TRIE_H_

#include <cstdint>

namespace trellis::internal {

using Symbol = uint16_t;
inline constexpr Symbol kUnknownSymbol = 0;

struct CharTrie {
  static constexpr int kBaseShift = 16;
  static constexpr int kCostShift = 37;
  static constexpr uint32_t kMaxBase = (uint32_t{1} << (kCostShift - kBaseShift)) - 1;
  static constexpr uint32_t kNoCost = (uint32_t{1} << (64 - kCostShift)) - 1;

  static Symbol Check(uint64_t unit) { return static_cast<Symbol>(unit); }
  static uint32_t Base(uint64_t unit) { return static_cast<uint32_t>(unit >> kBaseShift) & kMaxBase; }
  static uint32_t Cost(uint64_t unit) { return static_cast<uint32_t>(unit >> kCostShift); }
  static uint64_t Pack(Symbol check, uint32_t base, uint32_t cost) {
    return check | static_cast<uint64_t>(base) << kBaseShift | static_cast<uint64_t>(cost) << kCostShift;
  }

  const uint64_t* units = nullptr;  // not owned
  const int32_t* ids = nullptr;     // by unit
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TRIE_CHAR_TRIE_H_
