#include "src/trie/char_trie_builder.h"

#include <algorithm>

namespace trellis::internal {
namespace {

constexpr Symbol kFree = 0xFFFF;
constexpr uint32_t kMaxBase = 1u << 28;
constexpr uint32_t kLeafBase = 1;  // nothing lies there: no unit 1 + s has check s
// The front of the free list is where bases are used up and only single children find a place. So nodes with about as
// many children begin where the last of them had to look long, and leave the front behind.
constexpr size_t kKinds = 9;  // by number of children; all larger ones are one kind
constexpr int kManyTries = 16;

struct Pending {
  uint32_t unit;
  uint32_t begin;  // sorted keys that share their first `depth` symbols
  uint32_t end;
  uint32_t depth;
};

// Units and the list of free ones, by number, ends tied at unit 0.
class Units {
 public:
  explicit Units(uint32_t size) { Grow(size); }

  bool free(uint32_t at) const { return at >= next_.size() || next_[at] != 0; }
  bool base_used(uint32_t base) const { return base < base_used_.size() && base_used_[base] != 0; }
  void UseBase(uint32_t base) { base_used_[base] = 1; }
  uint32_t first() {
    if (first_ >= next_.size()) Grow(static_cast<uint32_t>(next_.size()) * 2);
    return first_;
  }
  uint32_t next(uint32_t at) {
    if (next_[at] >= next_.size()) Grow(static_cast<uint32_t>(next_.size()) * 2);
    return next_[at];
  }
  void Take(uint32_t at) {
    while (at >= next_.size()) Grow(static_cast<uint32_t>(next_.size()) * 2);
    const uint32_t before = previous_[at], after = next_[at];
    if (at == first_) {
      first_ = after;
    } else {
      next_[before] = after;
    }
    if (after < previous_.size()) {
      previous_[after] = before;
    } else {
      tail_ = before;
    }
    next_[at] = 0;
  }

 private:
  void Grow(uint32_t size) {
    const auto old = static_cast<uint32_t>(next_.size());
    next_.resize(size);
    previous_.resize(size);
    base_used_.resize(size, 0);
    for (uint32_t i = old; i < size; ++i) {
      next_[i] = i + 1;
      previous_[i] = i - 1;
    }
    if (old != 0) previous_[old] = tail_;
    tail_ = size - 1;
  }

  std::vector<uint32_t> next_;  // 0: taken
  std::vector<uint32_t> previous_;
  std::vector<uint8_t> base_used_;
  uint32_t first_ = 0;
  uint32_t tail_ = 0;
};

}  // namespace

std::optional<BuiltCharTrie> BuildCharTrie(std::span<const CharTrieKey> keys, uint32_t alphabet, int32_t unk_id,
                                           uint32_t unk_cost, PageSize pages) {
  const auto before = [](const CharTrieKey& a, const CharTrieKey& b) {
    return std::lexicographical_compare(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end());
  };
  std::vector<CharTrieKey> sorted(keys.begin(), keys.end());
  if (!std::is_sorted(sorted.begin(), sorted.end(), before)) std::sort(sorted.begin(), sorted.end(), before);

  struct Filled {
    uint32_t at;
    CharUnit unit;
  };
  std::vector<Filled> filled;
  filled.reserve(sorted.size() * 3 + alphabet);
  Units units(alphabet * 2 + 1024);
  units.UseBase(0);
  units.UseBase(kLeafBase);
  for (uint32_t s = 0; s <= alphabet; ++s) units.Take(s);

  std::vector<Pending> stack, children;
  std::vector<Symbol> labels;
  std::vector<uint8_t> root_done(alphabet + 1, 0);
  const auto cut = [&](const Pending& p) {  // fills children and labels
    children.clear();
    labels.clear();
    uint32_t i = p.begin;
    if (sorted[i].symbols.size() == p.depth) ++i;
    while (i < p.end) {
      const Symbol symbol = sorted[i].symbols[p.depth];
      uint32_t j = i + 1;
      while (j < p.end && sorted[j].symbols[p.depth] == symbol) ++j;
      labels.push_back(symbol);
      children.push_back({0, i, j, p.depth + 1});
      i = j;
    }
  };
  uint32_t last = alphabet;
  uint32_t fronts[kKinds] = {};
  if (!sorted.empty()) {
    cut({0, 0, static_cast<uint32_t>(sorted.size()), 0});
    for (size_t i = children.size(); i-- > 0;) {
      children[i].unit = labels[i];
      stack.push_back(children[i]);
    }
  }
  while (!stack.empty()) {
    const Pending p = stack.back();
    stack.pop_back();
    const CharTrieKey& first = sorted[p.begin];
    const bool is_piece = first.symbols.size() == p.depth;
    const Symbol symbol = first.symbols[p.depth - 1];
    uint32_t cost = is_piece ? first.cost : CharUnit::kNoCost;
    int32_t id = is_piece ? first.id : unk_id;
    if (p.depth == 1) {
      root_done[symbol] = 1;
      if (!is_piece) cost = unk_cost;
    }
    cut(p);
    uint32_t base = kLeafBase;
    uint16_t mask = 0;
    for (const Symbol label : labels) mask = static_cast<uint16_t>(mask | 1u << (label & 15));
    if (!children.empty()) {
      uint32_t at = units.first();
      uint32_t& front = fronts[std::min(children.size(), kKinds - 1)];
      if (front > at && units.free(front)) at = front;
      for (int tries = 0;; at = units.next(at), ++tries) {
        if (tries == kManyTries) front = at;
        if (at <= labels[0] + kLeafBase) continue;
        base = at - labels[0];
        if (units.base_used(base)) continue;
        if (std::all_of(labels.begin(), labels.end(), [&](Symbol s) { return units.free(base + s); })) break;
      }
      if (base > kMaxBase) return std::nullopt;
      for (size_t i = 0; i < children.size(); ++i) {
        children[i].unit = base + labels[i];
        units.Take(children[i].unit);
        last = std::max(last, children[i].unit);
      }
      units.UseBase(base);
      stack.insert(stack.end(), children.rbegin(), children.rend());
    }
    filled.push_back({p.unit, {base, symbol, mask, cost, id}});
  }

  BuiltCharTrie trie;
  const size_t size = size_t{last} + alphabet + 1;  // base <= last
  trie.units = Table<CharUnit>(size, pages);
  for (size_t i = 0; i < size; ++i) trie.units[i] = {kLeafBase, kFree, 0, CharUnit::kNoCost, unk_id};
  for (uint32_t s = 0; s <= alphabet; ++s) {
    if (root_done[s] == 0) trie.units[s] = {kLeafBase, static_cast<Symbol>(s), 0, unk_cost, unk_id};
  }
  for (const Filled& f : filled) trie.units[f.at] = f.unit;
  return trie;
}

}  // namespace trellis::internal
