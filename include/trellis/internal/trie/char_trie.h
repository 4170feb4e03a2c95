// CharTrie: a double array over symbols (characters of the model's alphabet,
// numbered), with the piece's cost and id inside: 16 bytes a unit.
//
// Unit s, for every symbol s, is the root's child; those all exist, and where a
// character is no piece of its own its unit has the cost and id of the unknown
// piece. Every base of a unit with children is used once, so the symbol alone
// proves the parent. `children` says for most symbols that there is no such
// child without looking: a walk's last step would else touch a unit that is
// nobody's business, and likely a cache line of its own.
//
// Invariant: base + symbol is inside for every base and every symbol.
#ifndef TRELLIS_INTERNAL_TRIE_CHAR_TRIE_H_
#define TRELLIS_INTERNAL_TRIE_CHAR_TRIE_H_

#include <cstdint>

namespace trellis::internal {

using Symbol = uint16_t;
inline constexpr Symbol kUnknownSymbol = 0;

struct CharUnit {
  static constexpr uint32_t kNoCost = 0xFFFFFFFF;

  uint32_t base;      // child of symbol s is unit base + s
  Symbol check;       // the symbol that leads here; kFree in free units
  uint16_t children;  // bit s % 16 for each child's symbol s
  uint32_t cost;      // of the piece that ends here: -score in the trie's unit; kNoCost: none ends
  int32_t id;

  bool MayHaveChild(Symbol symbol) const { return (children >> (symbol & 15) & 1) != 0; }
};
static_assert(sizeof(CharUnit) == 16);

struct CharTrie {
  const CharUnit* units = nullptr;  // not owned
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TRIE_CHAR_TRIE_H_
