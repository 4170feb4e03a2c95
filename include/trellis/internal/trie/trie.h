// The trie seam: bytes in, piece ids out.
//
// A trie knows bytes and nothing of UTF-8, blanks or dialects. Two layouts
// stand behind one small interface, and the lattice is instantiated for each:
//
//   struct SomeTrie {
//     using Node = ...;                     // trivially copyable
//     Node root() const;
//     bool Step(Node& node, uint8_t byte) const;  // false: no such child
//     int32_t Id(Node node) const;          // piece that ends here, or kNoPiece
//   };
//
// Invariant: no walk reads outside the arrays, whatever the bytes.
#ifndef TRELLIS_INTERNAL_TRIE_TRIE_H_
#define TRELLIS_INTERNAL_TRIE_TRIE_H_

#include <concepts>
#include <cstdint>

namespace trellis::internal {

inline constexpr int32_t kNoPiece = -1;

template <typename T>
concept ByteTrie = requires(const T trie, typename T::Node node, uint8_t byte) {
  { trie.root() } -> std::same_as<typename T::Node>;
  { trie.Step(node, byte) } -> std::same_as<bool>;
  { trie.Id(node) } -> std::same_as<int32_t>;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TRIE_TRIE_H_
