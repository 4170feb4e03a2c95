// BitmapTrie: one 64-byte cache line a node.
//
//   bitmap  4 x 64 bits: which of the 256 children exist
//   base    node number of the first child; children lie in byte order
//   id      piece that ends here, or kNoPiece
//   score   its score, so that a relaxation needs no second line
//   rank    children before each 64-bit word of the bitmap
//
// A child's number is base + rank + popcount of the bits below: there is no
// check array, since a bit that is set is the proof. Immutable and position
// independent.
#ifndef TRELLIS_INTERNAL_TRIE_BITMAP_TRIE_H_
#define TRELLIS_INTERNAL_TRIE_BITMAP_TRIE_H_

#include <bit>
#include <cstdint>
#include <span>

#include "trellis/internal/trie/trie.h"

namespace trellis::internal {

struct alignas(64) BitmapTrieNode {
  uint64_t bitmap[4] = {};
  double score = 0.0;
  uint32_t base = 0;
  int32_t id = kNoPiece;
  uint8_t rank[4] = {};
  uint8_t unused[12] = {};
};
static_assert(sizeof(BitmapTrieNode) == 64);

class BitmapTrie {
 public:
  using Node = uint32_t;

  // `nodes` as TrieBuilder lays them out, node 0 the root; not owned. At least one.
  explicit BitmapTrie(std::span<const BitmapTrieNode> nodes) : nodes_(nodes.data()), size_(nodes.size()) {}

  Node root() const { return 0; }

  bool Step(Node& node, uint8_t byte) const {
    const BitmapTrieNode& n = nodes_[node];
    const uint64_t word = n.bitmap[byte >> 6];
    const uint64_t bit = uint64_t{1} << (byte & 63);
    if ((word & bit) == 0) return false;
    node = n.base + n.rank[byte >> 6] + static_cast<uint32_t>(std::popcount(word & (bit - 1)));
    return true;
  }

  int32_t Id(Node node) const { return nodes_[node].id; }
  size_t bytes() const { return size_ * sizeof(BitmapTrieNode); }

 private:
  const BitmapTrieNode* nodes_;
  size_t size_;
};
static_assert(ByteTrie<BitmapTrie>);

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TRIE_BITMAP_TRIE_H_
