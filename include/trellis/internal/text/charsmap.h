// CharsMap: SentencePiece's precompiled character rules.
//
// A blob is a little-endian u32 with the size in bytes of a double array
// (darts-clone units), the array, and NUL-terminated replacements that the
// leaves point into. Immutable; a view is 32 bytes plus a copy of the array,
// because the blob need not be aligned.
//
// Invariant: after Create every walk stays inside the array and every
// replacement is well-formed UTF-8 inside the blob, whatever the key's bytes.
#ifndef TRELLIS_INTERNAL_TEXT_CHARSMAP_H_
#define TRELLIS_INTERNAL_TEXT_CHARSMAP_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::internal {

class CharsMap {
 public:
  struct Match {
    size_t length;  // bytes of the key
    std::string_view replacement;
  };

  // Identity: no rule.
  CharsMap() = default;

  // nullopt when `blob` is sound, else what is wrong and where.
  static std::optional<std::string> Check(std::string_view blob);

  // `blob` must have passed Check; it is copied.
  explicit CharsMap(std::string_view blob);

  bool empty() const { return units_.empty(); }

  // The rule with the shortest key that is a prefix of `text`. Hugging Face
  // takes this one (tokenizers, normalizers/precompiled.rs; spm_precompiled).
  std::optional<Match> Shortest(std::string_view text) const { return Walk<true>(text); }
  // The rule with the longest key: SentencePiece's choice.
  std::optional<Match> Longest(std::string_view text) const { return Walk<false>(text); }

  // Whether some key begins with `prefix`.
  bool StartsKey(std::string_view prefix) const {
    if (units_.empty()) return false;
    uint32_t node = Offset(units_[0]);
    for (const char c : prefix) {
      const auto byte = static_cast<uint8_t>(c);
      node ^= byte;
      if (byte == 0 || node >= units_.size() || Label(units_[node]) != byte) return false;
      node ^= Offset(units_[node]);
    }
    return true;
  }

  template <typename F>
  void ForEach(F&& f) const {
    ForEach(static_cast<size_t>(-1), f);
  }
  // Calls f(key, replacement) for every rule whose key has at most `max_bytes`,
  // in byte order of the keys.
  template <typename F>
  void ForEach(size_t max_bytes, F&& f) const {
    if (units_.empty() || max_bytes == 0) return;
    const Edges edges(units_);
    std::string key;
    Visit(edges, Offset(units_[0]), key, max_bytes, f);
  }

  // The most bytes, and the most characters, that one byte of a key becomes;
  // rounded up, at least 1.
  size_t MaxExpansion() const { return max_expansion_; }
  size_t MaxCharacterExpansion() const { return max_character_expansion_; }
  // The most bytes where each blank of a replacement becomes U+2581.
  size_t MaxEscapedExpansion() const { return max_escaped_expansion_; }
  // Whether a key of two bytes or more holds this one, which must be ASCII.
  bool IsInLongerKey(uint8_t ascii) const { return in_longer_key_[ascii]; }

 private:
  // darts-clone's unit: label in the low byte (bit 31 clear for a node), bit 8
  // says that a leaf follows, bits 10.. with the scale bit 9 are the offset. A
  // leaf has bit 31 set and a value below.
  static uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
  static uint32_t Label(uint32_t unit) { return unit & ((1u << 31) | 0xFF); }
  static bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
  static uint32_t Value(uint32_t unit) { return unit & ((1u << 31) - 1); }

  // Which units hang below which node, found in one pass over the array instead
  // of 255 guesses a node.
  class Edges {
   public:
    explicit Edges(std::span<const uint32_t> units);
    // In order of their labels. `node` must be inside the array.
    std::span<const uint32_t> Children(uint32_t node) const {
      return std::span(children_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
    }

   private:
    std::vector<uint32_t> begin_;  // by node, and the end
    std::vector<uint32_t> children_;
  };

  std::string_view Replacement(uint32_t value) const {
    return std::string_view(replacements_).substr(value, replacements_.find('\0', value) - value);
  }

  // Of a rule with so long a key.
  void AddRatios(size_t key_bytes, std::string_view replacement);

  template <bool kFirst>
  std::optional<Match> Walk(std::string_view text) const {
    std::optional<Match> found;
    if (units_.empty()) return found;
    uint32_t node = Offset(units_[0]);
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<uint8_t>(text[i]);
      if (byte == 0) break;
      node ^= byte;
      if (node >= units_.size()) break;
      const uint32_t unit = units_[node];
      if (Label(unit) != byte) break;
      node ^= Offset(unit);
      if (HasLeaf(unit)) {
        found = Match{i + 1, Replacement(Value(units_[node]))};
        if constexpr (kFirst) break;
      }
    }
    return found;
  }

  template <typename F>
  void Visit(const Edges& edges, uint32_t node, std::string& key, size_t max_bytes, F& f) const {
    for (const uint32_t child : edges.Children(node)) {
      key.push_back(static_cast<char>(node ^ child));
      const uint32_t next = child ^ Offset(units_[child]);
      if (HasLeaf(units_[child])) f(std::string_view(key), Replacement(Value(units_[next])));
      if (key.size() < max_bytes) Visit(edges, next, key, max_bytes, f);
      key.pop_back();
    }
  }

  std::vector<uint32_t> units_;
  std::string replacements_;
  size_t max_expansion_ = 1;
  size_t max_character_expansion_ = 1;
  size_t max_escaped_expansion_ = 1;
  std::bitset<128> in_longer_key_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_CHARSMAP_H_
