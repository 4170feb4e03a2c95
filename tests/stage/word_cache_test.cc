#include "trellis/internal/stage/word_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace trellis::internal {
namespace {

// A cache on memory that held something else before.
class Cache {
 public:
  Cache() : memory_(std::make_unique<WordCache::Memory>()), cache_(memory_.get()) {
    std::memset(static_cast<void*>(memory_.get()), 0xA5, sizeof(WordCache::Memory));
    cache_.Clear();
  }
  WordCache* operator->() { return &cache_; }

 private:
  std::unique_ptr<WordCache::Memory> memory_;
  WordCache cache_;
};

std::vector<TokenId> Ids(const WordCache::Found& found) {
  return found.ids == nullptr ? std::vector<TokenId>() : std::vector<TokenId>(found.ids, found.ids + found.count);
}

std::vector<uint16_t> Ends(const WordCache::Found& found) {
  std::vector<uint16_t> ends;
  for (uint32_t i = 0; found.offsets != nullptr && i < found.count; ++i) ends.insert(ends.end(), {found.offsets[i].begin, found.offsets[i].end});
  return ends;
}

const std::vector<TokenId> kIds = {5, -1, 70000};
const std::vector<WordOffset> kOffsets = {{0, 2}, {2, 2}, {2, 65535}};

TEST(WordCache, FindsWhatWasPutIn) {
  Cache cache;
  EXPECT_EQ(cache->Find("word", 42).ids, nullptr);
  cache->Insert("word", 42, kIds, kOffsets);
  const WordCache::Found found = cache->Find("word", 42);
  EXPECT_EQ(Ids(found), kIds);
  EXPECT_EQ(Ends(found), (std::vector<uint16_t>{0, 2, 2, 2, 2, 65535}));
  EXPECT_EQ(cache->Find("word", uint64_t{43} << 32 | 42).ids, nullptr);
  cache->Clear();
  EXPECT_EQ(cache->Find("word", 42).ids, nullptr);
}

TEST(WordCache, RemembersWhetherThereAreOffsets) {
  Cache cache;
  cache->Insert("word", 42, kIds, {});
  EXPECT_EQ(Ids(cache->Find("word", 42)), kIds);
  EXPECT_EQ(cache->Find("word", 42).offsets, nullptr);
  cache->Insert("word", 42, kIds, kOffsets);  // now with: the newer record counts
  EXPECT_NE(cache->Find("word", 42).offsets, nullptr);
}

// Two words with one hash are never taken for one another, wherever they differ.
TEST(WordCache, RemembersTheReach) {
  Cache cache;
  cache->Insert("word", 42, kIds, kOffsets, 1234.5F);
  EXPECT_EQ(cache->Find("word", 42).reach, 1234.5F);
  cache->Insert("word", 42, kIds, kOffsets);
  EXPECT_EQ(cache->Find("word", 42).reach, std::numeric_limits<float>::max());
  EXPECT_EQ(Ids(cache->Find("word", 42)), kIds);
}

TEST(WordCache, ComparesKeys) {
  for (size_t size = 1; size <= 70; ++size) {
    const std::string word(size, 'a');
    Cache cache;
    cache->Insert(word, 7, kIds, {});
    ASSERT_EQ(Ids(cache->Find(word, 7)), kIds) << size;
    for (size_t place = 0; place < size; ++place) {
      std::string other = word;
      other[place] = 'b';
      ASSERT_EQ(cache->Find(other, 7).ids, nullptr) << size << ", byte " << place;
    }
    ASSERT_EQ(cache->Find(word + 'a', 7).ids, nullptr);
    ASSERT_EQ(cache->Find(std::string_view(word).substr(1), 7).ids, nullptr);
  }
}

// Two words share a place (equal low bits); a third pushes one out, and what is
// left is right.
TEST(WordCache, TwoWordsAPlace) {
  Cache cache;
  const std::vector<std::vector<TokenId>> ids = {{1}, {2, 2}, {3, 3, 3}};
  const auto hash = [](uint64_t i) { return i << 32 | 10; };
  cache->Insert("one", hash(1), ids[0], {});
  cache->Insert("two", hash(2), ids[1], {});
  EXPECT_EQ(Ids(cache->Find("one", hash(1))), ids[0]);
  EXPECT_EQ(Ids(cache->Find("two", hash(2))), ids[1]);
  cache->Insert("three", hash(3), ids[2], {});
  EXPECT_EQ(Ids(cache->Find("three", hash(3))), ids[2]);
  EXPECT_EQ(cache->Find("one", hash(1)).ids, nullptr);  // the older one went
  EXPECT_EQ(Ids(cache->Find("two", hash(2))), ids[1]);
}

TEST(WordCache, WhatIsTooLongIsNotRemembered) {
  Cache cache;
  const std::string longest(WordCache::kMaxKey, 'k');
  const std::vector<TokenId> most(WordCache::kMaxTokens, 9);
  const std::vector<WordOffset> offsets(WordCache::kMaxTokens, WordOffset{1, 2});
  cache->Insert(longest, 1, most, offsets);
  EXPECT_EQ(Ids(cache->Find(longest, 1)), most);
  cache->Insert(longest + 'k', 2, kIds, {});
  EXPECT_EQ(cache->Find(longest + 'k', 2).ids, nullptr);
  cache->Insert("many", 3, std::vector<TokenId>(WordCache::kMaxTokens + 1, 9), {});
  EXPECT_EQ(cache->Find("many", 3).ids, nullptr);
  cache->Insert("none", 4, {}, {});
  EXPECT_EQ(cache->Find("none", 4).ids, nullptr);
}

// Many times around the ring, against a map: what is found is what was last put
// in, the newest is always there, and the log's records never mix.
TEST(WordCache, OverwritesTheOldest) {
  Cache cache;
  std::mt19937_64 random(12);
  struct Entry {
    std::vector<TokenId> ids;
    std::vector<uint16_t> ends;
  };
  std::map<std::string, std::pair<uint64_t, Entry>> all;
  std::vector<std::string> order;
  size_t found_old = 0, lost_old = 0;
  for (int n = 0; n < 60000; ++n) {
    std::string word(1 + random() % (n % 50 == 0 ? WordCache::kMaxKey : 40), '\0');
    for (char& c : word) c = static_cast<char>('a' + random() % 26);
    Entry entry;
    std::vector<WordOffset> offsets;
    const bool with_offsets = random() % 2 == 0;
    for (size_t i = 1 + random() % (n % 70 == 0 ? WordCache::kMaxTokens : 8); i > 0; --i) {
      entry.ids.push_back(static_cast<TokenId>(random()));
      if (!with_offsets) continue;
      offsets.push_back({static_cast<uint16_t>(random()), static_cast<uint16_t>(random())});
      entry.ends.insert(entry.ends.end(), {offsets.back().begin, offsets.back().end});
    }
    const auto known = all.find(word);
    const uint64_t hash = known != all.end() ? known->second.first : random();
    cache->Insert(word, hash, entry.ids, offsets);
    const WordCache::Found newest = cache->Find(word, hash);
    ASSERT_EQ(Ids(newest), entry.ids);
    ASSERT_EQ(Ends(newest), entry.ends);
    all[word] = {hash, entry};
    order.push_back(word);
    for (int k = 0; k < 3; ++k) {
      const std::string& old = order[order.size() - 1 - random() % std::min<size_t>(order.size(), k == 0 ? 200 : 20000)];
      const WordCache::Found found = cache->Find(old, all[old].first);
      if (found.ids == nullptr) {
        ++lost_old;
        continue;
      }
      ++found_old;
      ASSERT_EQ(Ids(found), all[old].second.ids);
      ASSERT_EQ(Ends(found), all[old].second.ends);
    }
  }
  EXPECT_GT(found_old, 50000u);
  EXPECT_GT(lost_old, 10000u);
}

// A long word whose bytes look like records of another word, written over that
// word's own: what has been overwritten is dead, however well it reads.
TEST(WordCache, AWordCannotForgeARecord) {
  Cache cache;
  const auto hash = [](uint64_t place, uint64_t tag) { return tag << 32 | place; };
  for (uint64_t i = 0; i < 64; ++i) cache->Insert("word", hash(2 * i, 77), std::vector<TokenId>{1}, {});
  // Sizes and flag of a record, its key, one id: a unit of the log.
  const std::string forged("\x04\0\x01\0\0\0\0\0word\x9a\x02\0\0", 16);
  std::string filler(8, '.');
  while (filler.size() + forged.size() <= WordCache::kMaxKey) filler += forged;
  for (uint64_t n = 0; n < 2 * WordCache::kLogBytes / filler.size(); ++n) {
    cache->Insert(filler, hash(1000 + n, n), std::vector<TokenId>{2}, {});
  }
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(cache->Find("word", hash(2 * i, 77)).ids, nullptr) << i;
}

// Every byte of a long word counts.
TEST(WordCache, HashSeesEveryByte) {
  for (size_t size = 16; size < 100; ++size) {
    const std::string word(size, 'a');
    const uint64_t hash = WordCache::Hash(word);
    for (size_t place = 0; place < size; ++place) {
      std::string other = word;
      other[place] = 'b';
      EXPECT_NE(WordCache::Hash(other), hash) << size << ", byte " << place;
    }
    EXPECT_NE(WordCache::Hash(word + 'a'), hash);
  }
}

}  // namespace
}  // namespace trellis::internal
