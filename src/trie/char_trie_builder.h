// CharTrieBuilder: strings of symbols with costs in, a CharTrie out.
#ifndef TRELLIS_SRC_TRIE_CHAR_TRIE_BUILDER_H_
#define TRELLIS_SRC_TRIE_CHAR_TRIE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/trie/table_memory.h"
#include "trellis/internal/trie/char_trie.h"

namespace trellis::internal {

struct CharTrieKey {
  std::span<const Symbol> symbols;  // not empty, none is kUnknownSymbol
  int32_t id = 0;
  uint32_t cost = 0;  // below CharUnit::kNoCost
};

struct BuiltCharTrie {
  Table<CharUnit> units;
  CharTrie view() const { return {units.data()}; }
  size_t bytes() const { return units.bytes(); }
};

// `keys` must be different. Symbols are 1..alphabet. nullopt when there are
// more than a unit's number can say.
std::optional<BuiltCharTrie> BuildCharTrie(std::span<const CharTrieKey> keys, uint32_t alphabet, int32_t unk_id,
                                           uint32_t unk_cost, PageSize pages);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_TRIE_CHAR_TRIE_BUILDER_H_
