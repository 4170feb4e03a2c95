#include "trellis/internal/stage/word_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/stage/word_table_builder.h"

namespace trellis::internal {
namespace {

WordKey KeyOf(std::string_view word) {
  char padded[kMaxWordKey];
  std::fill(std::begin(padded), std::end(padded), '\x5A');  // what is behind a word in a text
  std::copy(word.begin(), word.end(), padded);
  return LoadWordKey(padded, static_cast<uint32_t>(word.size()));
}

uint64_t HashOf(std::string_view word) { return HashWordKey(KeyOf(word), static_cast<uint32_t>(word.size())); }

WordEntry EntryOf(std::string_view word, TokenId id) {
  WordEntry entry;
  entry.key = KeyOf(word);
  entry.id = id;
  entry.length = static_cast<uint8_t>(word.size());
  return entry;
}

// As the word path asks: one slot, one comparison.
const WordEntry* Find(const WordTable& table, std::string_view word) {
  const WordEntry* entry = table.entry(table.Slot(HashOf(word)));
  return entry->key == KeyOf(word) && entry->length == word.size() ? entry : nullptr;
}

std::map<std::string, TokenId> RandomWords(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::map<std::string, TokenId> words;
  while (words.size() < count) {
    std::string word(1 + random() % kMaxWordKey, '\0');
    for (char& c : word) c = static_cast<char>(random() % 4 == 0 ? random() : 'a' + random() % 26);
    words.emplace(word, static_cast<TokenId>(words.size()));
  }
  return words;
}

TEST(WordTable, FindsItsWordsAndNoOthers) {
  for (const size_t count : {size_t{1}, size_t{2}, size_t{10}, size_t{1000}, size_t{100000}}) {
    const std::map<std::string, TokenId> words = RandomWords(count, static_cast<uint32_t>(count));
    std::vector<WordEntry> entries;
    for (const auto& [word, id] : words) entries.push_back(EntryOf(word, id));
    const BuiltWordTable built = BuildWordTable(entries, PageSize::kDefault);
    const WordTable table = built.view();
    ASSERT_FALSE(table.empty());
    size_t missing = 0;
    for (const auto& [word, id] : words) {
      ASSERT_LT(table.Slot(HashOf(word)), built.entries.size());
      const WordEntry* entry = Find(table, word);
      if (entry == nullptr) {
        ++missing;  // allowed, and rare
        continue;
      }
      EXPECT_EQ(entry->id, id);
    }
    EXPECT_LE(missing, count / 100 + 2);
    size_t strangers = 0;
    for (const auto& [word, id] : RandomWords(10000, 77)) {
      ASSERT_LT(table.Slot(HashOf(word)), built.entries.size());
      if (words.contains(word)) continue;
      EXPECT_EQ(Find(table, word), nullptr);
      ++strangers;
    }
    EXPECT_GT(strangers, 9000u);
    size_t used = 0;
    for (const WordEntry& entry : built.entries.span()) used += entry.length != 0;
    EXPECT_EQ(used, count - missing);
  }
}

TEST(WordTable, OfNothingIsEmpty) { EXPECT_TRUE(BuildWordTable({}, PageSize::kDefault).view().empty()); }

// A key is the word's bytes and nothing behind; the length tells "a" from "a\0".
TEST(WordKey, HoldsTheWordAlone) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz";
  for (uint32_t length = 0; length <= kMaxWordKey; ++length) {
    WordKey want{};
    for (uint32_t i = 0; i < length; ++i) {
      want.part[i / 8] |= static_cast<uint64_t>(static_cast<uint8_t>(text[i])) << (i % 8 * 8);
    }
    EXPECT_EQ(LoadWordKey(text.data(), length), want) << length;
  }
  EXPECT_EQ(KeyOf("a"), KeyOf(std::string_view("a\0", 2)));
  EXPECT_NE(HashOf("a"), HashOf(std::string_view("a\0", 2)));
}

TEST(WordKey, HashSeesEveryByte) {
  for (size_t size = 1; size <= kMaxWordKey; ++size) {
    for (size_t place = 0; place < size; ++place) {
      std::string word(size, 'a'), other = word;
      other[place] = 'b';
      EXPECT_NE(HashOf(word), HashOf(other)) << size << ", byte " << place;
    }
  }
}

}  // namespace
}  // namespace trellis::internal
