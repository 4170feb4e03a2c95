// HashMapTrie: a byte trie whose edges lie in one hash map. Not in the library:
// the rung of the ladder that shows what the tries' layouts are worth.
#ifndef TRELLIS_BENCH_END_TO_END_HASH_MAP_TRIE_H_
#define TRELLIS_BENCH_END_TO_END_HASH_MAP_TRIE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "trellis/internal/trie/trie.h"
#include "trellis/spec.h"

namespace trellis::bench {

class HashMapTrie {
 public:
  using Node = uint32_t;

  // Piece i has id i; of equal pieces the last one counts, empty ones never
  // match. Error: more nodes than a key has room for.
  static absl::StatusOr<HashMapTrie> Create(const std::vector<Piece>& pieces) {
    HashMapTrie trie;
    for (size_t id = 0; id < pieces.size(); ++id) {
      Node node = trie.root();
      for (const char byte : pieces[id].text) {
        const auto next = static_cast<Node>(trie.ids_.size());
        if (next >= kMostNodes) {
          return absl::ResourceExhaustedError("hash map trie: expected fewer than " +
                                              std::to_string(kMostNodes) + " nodes");
        }
        const auto [edge, is_new] = trie.children_.try_emplace(Key(node, static_cast<uint8_t>(byte)), next);
        if (is_new) trie.ids_.push_back(internal::kNoPiece);
        node = edge->second;
      }
      if (node != trie.root()) trie.ids_[node] = static_cast<int32_t>(id);
    }
    return trie;
  }

  Node root() const { return 0; }

  bool Step(Node& node, uint8_t byte) const {
    const auto edge = children_.find(Key(node, byte));
    if (edge == children_.end()) return false;
    node = edge->second;
    return true;
  }

  int32_t Id(Node node) const { return ids_[node]; }

 private:
  HashMapTrie() = default;

  // 32 bits, so that an edge takes 8 bytes of the map and not 16: the rung is to
  // be as good as such a trie gets.
  static constexpr uint32_t kMostNodes = 1u << 24;
  static uint32_t Key(Node node, uint8_t byte) { return node << 8 | byte; }

  absl::flat_hash_map<uint32_t, Node> children_;
  std::vector<int32_t> ids_ = {internal::kNoPiece};  // by node
};
static_assert(internal::ByteTrie<HashMapTrie>);

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_HASH_MAP_TRIE_H_
