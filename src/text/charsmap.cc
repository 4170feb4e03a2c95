#include "trellis/internal/text/charsmap.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

uint32_t LoadLittleEndian32(const char* p) {
  const auto* b = reinterpret_cast<const uint8_t*>(p);
  return b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
}

constexpr size_t kHeaderBytes = 4;
// Keys are short strings of text (the longest published one has 18 bytes); a
// deeper array can only be a cycle.
constexpr size_t kMaxKeyBytes = 256;
// nmt_nfkc has 224,712.
constexpr uint64_t kMaxKeys = uint64_t{1} << 22;

}  // namespace

CharsMap::Edges::Edges(std::span<const uint32_t> units) : begin_(units.size() + 1, 0) {
  // A unit's own label says which node it hangs below. Sorted by label first,
  // since what is then counted by node keeps that order.
  const auto is_child = [&](uint32_t at) {
    const uint32_t label = Label(units[at]);
    return label != 0 && label < 256 && (at ^ label) < units.size();
  };
  const auto size = static_cast<uint32_t>(units.size());
  std::array<uint32_t, 257> next = {};
  for (uint32_t at = 0; at < size; ++at) {
    if (is_child(at)) ++next[Label(units[at]) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<uint32_t> by_label(next.back());
  for (uint32_t at = 0; at < size; ++at) {
    if (!is_child(at)) continue;
    by_label[next[Label(units[at])]++] = at;
    ++begin_[(at ^ Label(units[at])) + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  children_.resize(by_label.size());
  std::vector<uint32_t> place(begin_.begin(), begin_.end() - 1);
  for (const uint32_t at : by_label) children_[place[at ^ Label(units[at])]++] = at;
}

CharsMap::CharsMap(std::string_view blob) {
  const size_t array_bytes = LoadLittleEndian32(blob.data());
  units_.resize(array_bytes / sizeof(uint32_t));
  for (size_t i = 0; i < units_.size(); ++i) {
    units_[i] = LoadLittleEndian32(blob.data() + kHeaderBytes + i * sizeof(uint32_t));
  }
  replacements_.assign(blob.substr(kHeaderBytes + array_bytes));
  replacements_.push_back('\0');  // the last one need not be terminated
  // The worst ratios, without walking every key: a rule's shortest key has as
  // many bytes as the shortest way to its leaf. Breadth first, each node once.
  const Edges edges(units_);
  std::vector<uint8_t> seen(units_.size(), 0);
  std::vector<uint32_t> level = {Offset(units_[0])}, next;
  for (size_t key_bytes = 1; !level.empty(); ++key_bytes, level.swap(next)) {
    next.clear();
    for (const uint32_t node : level) {
      for (const uint32_t child : edges.Children(node)) {
        const uint32_t label = node ^ child, below = child ^ Offset(units_[child]);
        if (label < in_longer_key_.size() && (key_bytes > 1 || !edges.Children(below).empty()))
          in_longer_key_.set(label);
        if (HasLeaf(units_[child])) AddRatios(key_bytes, Replacement(Value(units_[below])));
        if (seen[below] == 0) {
          seen[below] = 1;
          next.push_back(below);
        }
      }
    }
  }
}

void CharsMap::AddRatios(size_t key_bytes, std::string_view replacement) {
  const auto is_first = [](char c) { return !IsContinuation(static_cast<uint8_t>(c)); };
  const auto characters =
      static_cast<size_t>(std::count_if(replacement.begin(), replacement.end(), is_first));
  const auto blanks = static_cast<size_t>(std::count(replacement.begin(), replacement.end(), ' '));
  const auto per_byte = [&](size_t n) { return (n + key_bytes - 1) / key_bytes; };
  max_expansion_ = std::max(max_expansion_, per_byte(replacement.size()));
  max_character_expansion_ = std::max(max_character_expansion_, per_byte(characters));
  max_escaped_expansion_ =
      std::max(max_escaped_expansion_, per_byte(replacement.size() + blanks * (kMetaSpace.size() - 1)));
}

std::optional<std::string> CharsMap::Check(std::string_view blob) {
  if (blob.size() < kHeaderBytes) {
    return "has " + std::to_string(blob.size()) + " bytes, expected a 4-byte size and a double array";
  }
  const size_t array_bytes = LoadLittleEndian32(blob.data());
  if (array_bytes > blob.size() - kHeaderBytes) {
    return "says its double array has " + std::to_string(array_bytes) + " bytes, but only " +
           std::to_string(blob.size() - kHeaderBytes) + " follow";
  }
  if (array_bytes == 0 || array_bytes % sizeof(uint32_t) != 0) {
    return "has a double array of " + std::to_string(array_bytes) +
           " bytes, expected a positive multiple of 4";
  }
  const std::string_view replacements = blob.substr(kHeaderBytes + array_bytes);
  if (!IsWellFormedUtf8(replacements)) return "has replacements that are not UTF-8";
  std::vector<uint32_t> units(array_bytes / sizeof(uint32_t));
  for (size_t i = 0; i < units.size(); ++i) {
    units[i] = LoadLittleEndian32(blob.data() + kHeaderBytes + i * sizeof(uint32_t));
  }

  // The array is a directed graph whose equal suffixes are shared. Depth first,
  // each node once: no step may leave the array, no cycle, and not more keys
  // than a rule set has (sharing could make exponentially many).
  enum : uint8_t { kNew, kOpen, kDone };
  struct Frame {
    uint32_t node;
    size_t next;  // of its children
  };
  std::vector<uint8_t> state(units.size(), kNew);
  std::vector<uint64_t> keys(units.size(), 0);    // below the node
  std::vector<uint32_t> height(units.size(), 0);  // longest way down from it
  std::vector<Frame> stack;
  const Edges edges(units);
  const auto outside = [&](uint32_t at) {
    return "points at unit " + std::to_string(at) + ", beyond its " + std::to_string(units.size()) + " units";
  };
  const auto add = [&](uint32_t parent, uint32_t child) {
    keys[parent] += keys[child];
    height[parent] = std::max(height[parent], height[child] + 1);
  };
  const std::string too_long = "has a key of more than " + std::to_string(kMaxKeyBytes) + " bytes";
  const uint32_t root = Offset(units[0]);
  if (root >= units.size()) return outside(root);
  state[root] = kOpen;
  stack.push_back({root, 0});
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const uint32_t node = frame.node;
    const std::span<const uint32_t> children = edges.Children(node);
    if (frame.next == children.size()) {
      state[node] = kDone;
      stack.pop_back();
      if (keys[node] > kMaxKeys) return "has more than " + std::to_string(kMaxKeys) + " keys";
      if (height[node] > kMaxKeyBytes) return too_long;
      if (!stack.empty()) add(stack.back().node, node);
      continue;
    }
    const uint32_t child = children[frame.next++];
    const uint32_t next = child ^ Offset(units[child]);
    if (next >= units.size()) return outside(next);
    if (HasLeaf(units[child])) {
      const uint32_t value = Value(units[next]);
      if (value >= replacements.size()) {
        return "has a leaf that points at byte " + std::to_string(value) + " of " +
               std::to_string(replacements.size()) + " bytes of replacements";
      }
      if (IsContinuation(static_cast<uint8_t>(replacements[value]))) {
        return "has a leaf that points inside a character, at byte " + std::to_string(value);
      }
      ++keys[node];
    }
    if (state[next] == kOpen) return "comes back to unit " + std::to_string(next) + ", expected no cycle";
    if (state[next] == kDone) {
      add(node, next);
      continue;
    }
    if (stack.size() > kMaxKeyBytes) return too_long;
    state[next] = kOpen;
    stack.push_back({next, 0});
  }
  return std::nullopt;
}

}  // namespace trellis::internal
