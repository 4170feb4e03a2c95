// DoubleArrayTrie: the classic two arrays, interleaved.
//
// Unit i holds `base` (child with byte b is unit base + b), `check` (the parent
// of unit i) and `id`. 12 bytes a unit; one load a step when the child exists.
// Immutable and position independent. The array ends with 256 unused units, so
// base + b is always inside.
#ifndef TRELLIS_INTERNAL_TRIE_DOUBLE_ARRAY_TRIE_H_
#define TRELLIS_INTERNAL_TRIE_DOUBLE_ARRAY_TRIE_H_

#include <cstdint>
#include <span>

#include "trellis/internal/trie/trie.h"

namespace trellis::internal {

struct DoubleArrayUnit {
  static constexpr uint32_t kFree = 0xFFFFFFFF;
  uint32_t base = 0;
  uint32_t check = kFree;
  int32_t id = kNoPiece;
};
static_assert(sizeof(DoubleArrayUnit) == 12);

class DoubleArrayTrie {
 public:
  using Node = uint32_t;

  // `units` as TrieBuilder lays them out, unit 0 the root; not owned.
  explicit DoubleArrayTrie(std::span<const DoubleArrayUnit> units) : units_(units.data()), size_(units.size()) {}

  Node root() const { return 0; }

  bool Step(Node& node, uint8_t byte) const {
    const uint32_t child = units_[node].base + byte;
    if (units_[child].check != node) return false;
    node = child;
    return true;
  }

  int32_t Id(Node node) const { return units_[node].id; }
  size_t bytes() const { return size_ * sizeof(DoubleArrayUnit); }

 private:
  const DoubleArrayUnit* units_;
  size_t size_;
};
static_assert(ByteTrie<DoubleArrayTrie>);

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TRIE_DOUBLE_ARRAY_TRIE_H_
