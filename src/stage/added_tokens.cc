#include "trellis/internal/stage/added_tokens.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/trie/trie_builder.h"

namespace trellis::internal {

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedTokenRule> rules) {
  std::erase_if(rules, [](const AddedTokenRule& rule) { return rule.pattern.empty(); });
  rules_ = std::move(rules);
  std::vector<TrieKey> keys;
  // Last first: the builder keeps the last of equal keys.
  for (size_t i = rules_.size(); i-- > 0;) {
    keys.push_back({rules_[i].pattern, static_cast<int32_t>(i)});
    if (shortest_ == 0 || rules_[i].pattern.size() < shortest_) shortest_ = rules_[i].pattern.size();
    first_bytes_[static_cast<uint8_t>(rules_[i].pattern[0])] = true;
  }
  const Table<DoubleArrayUnit> table = BuildDoubleArrayTrie(keys, PageSize::kDefault);
  units_.assign(table.data(), table.data() + table.size());
  int distinct = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (!first_bytes_[static_cast<size_t>(byte)]) continue;
    ++distinct;
    single_first_byte_ = byte;
  }
  if (distinct != 1) single_first_byte_ = -1;
  BuildStarts();
}

void AddedTokenMatcher::BuildStarts() {
  constexpr size_t kFewRules = 64;
  constexpr size_t kBitsARule = 16, kMostBits = size_t{1} << 18;
  if (single_first_byte_ >= 0 || rules_.size() < kFewRules || shortest_ < 2) return;
  const size_t bytes = std::min(shortest_, kStartBytes);
  char mask[kStartBytes] = {};
  std::fill_n(mask, bytes, '\xFF');
  std::memcpy(&start_mask_, mask, kStartBytes);
  const size_t bits = std::min(std::bit_ceil(rules_.size() * kBitsARule), kMostBits);
  start_shift_ = static_cast<uint32_t>(32 - std::countr_zero(bits));
  starts_.resize(bits / 64);
  for (const AddedTokenRule& rule : rules_) {
    char start[kStartBytes] = {};
    std::memcpy(start, rule.pattern.data(), bytes);
    const uint32_t hash = StartHash(start);
    starts_[hash / 64] |= uint64_t{1} << (hash % 64);
  }
}

}  // namespace trellis::internal
