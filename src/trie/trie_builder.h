// TrieBuilder: the only mutable trie. Keys in, finished tables out.
#ifndef TRELLIS_SRC_TRIE_TRIE_BUILDER_H_
#define TRELLIS_SRC_TRIE_TRIE_BUILDER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/trie/table_memory.h"
#include "trellis/internal/trie/bitmap_trie.h"
#include "trellis/internal/trie/double_array_trie.h"

namespace trellis::internal {

struct TrieKey {
  std::string_view bytes;  // not empty
  int32_t id = 0;
  double score = 0.0;
};

// Keys of any order. Of equal keys the last one counts, as in the reference's
// map from pieces to ids. Time O(total bytes x log keys), memory about the
// finished table's.
Table<BitmapTrieNode> BuildBitmapTrie(std::span<const TrieKey> keys, PageSize pages);
Table<DoubleArrayUnit> BuildDoubleArrayTrie(std::span<const TrieKey> keys, PageSize pages);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_TRIE_TRIE_BUILDER_H_
