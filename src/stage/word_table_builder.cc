#include "src/stage/word_table_builder.h"

#include <algorithm>
#include <numeric>

namespace trellis::internal {
namespace {

// Words a bucket on average, and slots a word: few buckets keep the pilots in
// the second-level cache, few free slots the entries; together they decide how
// many pilots have to be tried.
constexpr double kWordsPerBucket = 3.0;
constexpr double kSlotsPerWord = 1.06;
constexpr uint32_t kPilots = 1u << 16;

}  // namespace

BuiltWordTable BuildWordTable(const std::vector<WordEntry>& words, PageSize pages) {
  BuiltWordTable table;
  if (words.empty()) return table;
  const auto count = static_cast<uint32_t>(words.size());
  const auto buckets = static_cast<uint32_t>(count / kWordsPerBucket) + 1;
  const auto slots = static_cast<uint32_t>(count * kSlotsPerWord) + 1;
  table.entries = Table<WordEntry>(slots, pages);
  table.pilots = Table<uint16_t>(buckets, PageSize::kDefault);

  std::vector<uint64_t> hashes(count);
  std::vector<uint32_t> begin(buckets + 1, 0);
  for (uint32_t i = 0; i < count; ++i) {
    hashes[i] = HashWordKey(words[i].key, words[i].length);
    ++begin[WordTable::Bucket(hashes[i], buckets) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> members(count);
  {
    std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
    for (uint32_t i = 0; i < count; ++i) members[next[WordTable::Bucket(hashes[i], buckets)]++] = i;
  }
  // Large buckets first, while there is room.
  std::vector<uint32_t> order(buckets);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return begin[a + 1] - begin[a] > begin[b + 1] - begin[b]; });

  std::vector<uint32_t> places;
  for (const uint32_t bucket : order) {
    const uint32_t size = begin[bucket + 1] - begin[bucket];
    if (size == 0) break;
    for (uint32_t pilot = 0; pilot < kPilots; ++pilot) {
      places.clear();
      bool fits = true;
      for (uint32_t i = 0; i < size && fits; ++i) {
        const uint32_t slot = WordTable::SlotWithPilot(hashes[members[begin[bucket] + i]], pilot, slots);
        fits = table.entries[slot].length == 0 && std::find(places.begin(), places.end(), slot) == places.end();
        places.push_back(slot);
      }
      if (!fits) continue;
      table.pilots[bucket] = static_cast<uint16_t>(pilot);
      for (uint32_t i = 0; i < size; ++i) table.entries[places[i]] = words[members[begin[bucket] + i]];
      break;
    }
  }
  return table;
}

}  // namespace trellis::internal
