#include "src/trie/trie_builder.h"

#include <algorithm>
#include <cstddef>

namespace trellis::internal {
namespace {

// Sorted, without duplicates.
std::vector<TrieKey> Sorted(std::span<const TrieKey> keys) {
  std::vector<TrieKey> sorted(keys.begin(), keys.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TrieKey& a, const TrieKey& b) { return a.bytes < b.bytes; });
  size_t out = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (out > 0 && sorted[out - 1].bytes == sorted[i].bytes) {
      sorted[out - 1] = sorted[i];
    } else {
      sorted[out++] = sorted[i];
    }
  }
  sorted.resize(out);
  return sorted;
}

// A node still to be laid out: the sorted keys [begin, end) that share their
// first `depth` bytes.
struct Pending {
  uint32_t node;
  uint32_t begin;
  uint32_t end;
  uint32_t depth;
};

// Cuts the keys of `p` into one run a child byte; the key that ends at this
// depth, if any, comes first in the run and is skipped.
template <typename F>
void ForEachChild(std::span<const TrieKey> keys, const Pending& p, F&& f) {
  uint32_t i = p.begin;
  if (keys[i].bytes.size() == p.depth) ++i;
  while (i < p.end) {
    const auto byte = static_cast<uint8_t>(keys[i].bytes[p.depth]);
    uint32_t j = i + 1;
    while (j < p.end && static_cast<uint8_t>(keys[j].bytes[p.depth]) == byte) ++j;
    f(byte, i, j);
    i = j;
  }
}

}  // namespace

Table<BitmapTrieNode> BuildBitmapTrie(std::span<const TrieKey> keys, PageSize pages) {
  const std::vector<TrieKey> sorted = Sorted(keys);
  std::vector<BitmapTrieNode> nodes(1);
  std::vector<Pending> queue;  // breadth first: siblings get consecutive numbers
  if (!sorted.empty()) queue.push_back({0, 0, static_cast<uint32_t>(sorted.size()), 0});
  for (size_t head = 0; head < queue.size(); ++head) {
    const Pending p = queue[head];
    if (sorted[p.begin].bytes.size() == p.depth) {
      nodes[p.node].id = sorted[p.begin].id;
      nodes[p.node].score = sorted[p.begin].score;
    }
    const auto base = static_cast<uint32_t>(nodes.size());
    nodes[p.node].base = base;
    ForEachChild(sorted, p, [&](uint8_t byte, uint32_t begin, uint32_t end) {
      nodes[p.node].bitmap[byte >> 6] |= uint64_t{1} << (byte & 63);
      queue.push_back({static_cast<uint32_t>(nodes.size()), begin, end, p.depth + 1});
      nodes.emplace_back();
    });
    uint32_t rank = 0;
    for (int word = 0; word < 4; ++word) {
      nodes[p.node].rank[word] = static_cast<uint8_t>(rank);
      rank += static_cast<uint32_t>(std::popcount(nodes[p.node].bitmap[word]));
    }
  }
  Table<BitmapTrieNode> table(nodes.size(), pages);
  std::copy(nodes.begin(), nodes.end(), table.data());
  return table;
}

Table<DoubleArrayUnit> BuildDoubleArrayTrie(std::span<const TrieKey> keys, PageSize pages) {
  const std::vector<TrieKey> sorted = Sorted(keys);
  constexpr uint32_t kBytes = 256;
  std::vector<DoubleArrayUnit> units(2 * kBytes);
  uint32_t first_free = 1;
  units[0].check = 0;  // the root
  units[0].base = 1;   // never 0: byte 0 would lead the root to itself

  uint32_t last = 0;
  std::vector<Pending> stack;
  std::vector<Pending> children;
  std::vector<uint8_t> labels;
  if (!sorted.empty()) stack.push_back({0, 0, static_cast<uint32_t>(sorted.size()), 0});
  while (!stack.empty()) {
    const Pending p = stack.back();
    stack.pop_back();
    if (sorted[p.begin].bytes.size() == p.depth) units[p.node].id = sorted[p.begin].id;
    children.clear();
    labels.clear();
    ForEachChild(sorted, p, [&](uint8_t byte, uint32_t begin, uint32_t end) {
      labels.push_back(byte);
      children.push_back({0, begin, end, p.depth + 1});
    });
    if (children.empty()) continue;
    // First fit: the first free unit where all children have room. After some
    // failures, or a long way over taken ones, the units before are as good as
    // full and are left behind.
    uint32_t base = 0;
    int tries = 0;
    int taken = 0;
    constexpr int kGiveUpAfter = 64;
    constexpr int kTakenAtMost = 1024;
    for (uint32_t at = first_free;; ++at) {
      while (at + kBytes >= units.size()) units.resize(units.size() * 2);
      if (units[at].check != DoubleArrayUnit::kFree) {
        if (++taken == kTakenAtMost) first_free = at;
        continue;
      }
      if (++tries == kGiveUpAfter) first_free = at;
      if (at <= labels[0]) continue;
      base = at - labels[0];
      bool fits = true;
      for (const uint8_t label : labels) fits &= units[base + label].check == DoubleArrayUnit::kFree;
      if (fits) break;
    }
    units[p.node].base = base;
    for (size_t i = 0; i < children.size(); ++i) {
      const uint32_t at = base + labels[i];
      units[at].check = p.node;
      last = std::max(last, at);
      children[i].node = at;
    }
    while (units[first_free].check != DoubleArrayUnit::kFree) ++first_free;
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  units.resize(last + kBytes + 1);  // base <= last, so base + 255 is inside
  Table<DoubleArrayUnit> table(units.size(), pages);
  std::copy(units.begin(), units.end(), table.data());
  return table;
}

}  // namespace trellis::internal
