// Tries against a plain map: what ends where, on keys' own bytes and on others.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/trie/char_trie_builder.h"
#include "src/trie/trie_builder.h"
#include "trellis/internal/trie/char_trie.h"

namespace trellis::internal {
namespace {

std::vector<std::string> RandomKeys(size_t count, int letters, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) {
    std::string key(1 + random() % 6, '\0');
    for (char& c : key) c = static_cast<char>(random() % static_cast<uint32_t>(letters));
    keys.push_back(key);
  }
  return keys;
}

// All ids that end along a walk over `text`.
template <ByteTrie Trie>
std::vector<std::pair<size_t, int32_t>> Walk(const Trie& trie, std::string_view text) {
  std::vector<std::pair<size_t, int32_t>> found;
  auto node = trie.root();
  for (size_t i = 0; i < text.size() && trie.Step(node, static_cast<uint8_t>(text[i])); ++i) {
    if (trie.Id(node) != kNoPiece) found.emplace_back(i + 1, trie.Id(node));
  }
  return found;
}

std::vector<std::pair<size_t, int32_t>> Expected(const std::map<std::string, int32_t>& map, std::string_view text) {
  std::vector<std::pair<size_t, int32_t>> found;
  for (size_t length = 1; length <= text.size(); ++length) {
    const auto it = map.find(std::string(text.substr(0, length)));
    if (it != map.end()) found.emplace_back(length, it->second);
  }
  return found;
}

class Tries : public testing::TestWithParam<int> {};

TEST_P(Tries, FindWhatAMapFinds) {
  const int letters = GetParam();
  const std::vector<std::string> keys = RandomKeys(3000, letters, static_cast<uint32_t>(letters));
  std::map<std::string, int32_t> map;
  std::vector<TrieKey> trie_keys;
  for (size_t i = 0; i < keys.size(); ++i) {
    map[keys[i]] = static_cast<int32_t>(i);  // the last of equal keys counts
    trie_keys.push_back({keys[i], static_cast<int32_t>(i), -0.5 * static_cast<double>(i)});
  }
  const auto bitmap_table = BuildBitmapTrie(trie_keys, PageSize::kDefault);
  const auto array_table = BuildDoubleArrayTrie(trie_keys, PageSize::kDefault);
  const BitmapTrie bitmap(bitmap_table.span());
  const DoubleArrayTrie array(array_table.span());
  for (const std::string& text : RandomKeys(5000, std::min(256, letters + 1), 99)) {
    const auto want = Expected(map, text + text);
    EXPECT_EQ(Walk(bitmap, text + text), want);
    EXPECT_EQ(Walk(array, text + text), want);
  }
}
INSTANTIATE_TEST_SUITE_P(Letters, Tries, testing::Values(2, 4, 26, 255));

TEST(Tries, WithoutKeysNothingIsFound) {
  const auto bitmap_table = BuildBitmapTrie({}, PageSize::kDefault);
  const auto array_table = BuildDoubleArrayTrie({}, PageSize::kDefault);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(3, static_cast<char>(byte));
    EXPECT_TRUE(Walk(BitmapTrie(bitmap_table.span()), text).empty());
    EXPECT_TRUE(Walk(DoubleArrayTrie(array_table.span()), text).empty());
  }
}

TEST(Tries, ANodeIsOneCacheLine) {
  EXPECT_EQ(sizeof(BitmapTrieNode), 64u);
  EXPECT_EQ(alignof(BitmapTrieNode), 64u);
}

TEST(CharTrie, FindsWhatAMapFinds) {
  constexpr uint32_t kAlphabet = 3000;
  constexpr int32_t kUnk = 7;
  constexpr uint32_t kUnkCost = 1000000;
  std::mt19937 random(5);
  std::map<std::vector<Symbol>, int32_t> map;
  for (int32_t id = 10; id < 8000; ++id) {
    std::vector<Symbol> key(1 + random() % 4);
    for (Symbol& s : key) s = static_cast<Symbol>(1 + (random() % 2 == 0 ? random() % 12 : random() % kAlphabet));
    map.emplace(key, id);
  }
  std::vector<CharTrieKey> keys;
  for (const auto& [symbols, id] : map) keys.push_back({symbols, id, static_cast<uint32_t>(id) * 3});
  const auto built = BuildCharTrie(keys, kAlphabet, kUnk, kUnkCost, PageSize::kDefault);
  ASSERT_TRUE(built);
  const CharTrie trie = built->view();
  for (int n = 0; n < 20000; ++n) {
    std::vector<Symbol> text(6);
    for (Symbol& s : text) s = static_cast<Symbol>(random() % 2 == 0 ? random() % 13 : random() % (kAlphabet + 1));
    text.back() = kUnknownSymbol;
    uint32_t index = text[0];
    for (size_t length = 1; length < text.size(); ++length) {
      const CharUnit& unit = trie.units[index];
      const auto it = map.find({text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)});
      if (length == 1 && it == map.end()) {
        EXPECT_EQ(unit.cost, kUnkCost);
        EXPECT_EQ(unit.id, kUnk);
      } else if (it == map.end()) {
        EXPECT_EQ(unit.cost, CharUnit::kNoCost);
      } else {
        EXPECT_EQ(unit.cost, static_cast<uint32_t>(it->second) * 3);
        EXPECT_EQ(unit.id, it->second);
      }
      const Symbol next = text[length];
      const bool is_prefix = [&] {
        const std::vector<Symbol> prefix(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length) + 1);
        const auto from = map.lower_bound(prefix);
        return from != map.end() && from->first.size() >= prefix.size() &&
               std::equal(prefix.begin(), prefix.end(), from->first.begin());
      }();
      index = unit.base + next;
      ASSERT_LT(index, built->units.size());
      ASSERT_EQ(trie.units[index].check == next, is_prefix);
      if (is_prefix) {
        ASSERT_TRUE(unit.MayHaveChild(next));
      }
      if (!is_prefix) break;
    }
  }
}

TEST(TableMemory, IsZeroAndAligned) {
  for (const PageSize pages : {PageSize::kDefault, PageSize::kHuge}) {
    const Table<uint64_t> table(300000, pages);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(table.data()) % 64, 0u);
    for (size_t i = 0; i < table.size(); i += 511) EXPECT_EQ(table[i], 0u);
    if (pages == PageSize::kHuge) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(table.data()) % (2 << 20), 0u);
    }
  }
}

// Where the kernel grants 2 MB pages, smaps says so; where it does not, nothing
// breaks.
TEST(TableMemory, HugePagesAreSeenWhenGranted) {
  Table<uint64_t> small(1 << 20, PageSize::kDefault);
  Table<uint64_t> huge(1 << 20, PageSize::kHuge);
  for (size_t i = 0; i < huge.size(); i += 512) huge[i] = small[i] = 1;
  EXPECT_LE(huge.HugeBytes(), huge.bytes() + (size_t{2} << 20));
  RecordProperty("huge_bytes", std::to_string(huge.HugeBytes()));
  std::printf("2 MB pages: %zu of %zu bytes\n", huge.HugeBytes(), huge.bytes());
}

}  // namespace
}  // namespace trellis::internal
