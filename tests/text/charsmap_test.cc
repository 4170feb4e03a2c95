#include "trellis/internal/text/charsmap.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/reference/model_charsmap.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

using Rules = std::map<std::string, std::string, std::less<>>;

const CharsMap& Map() {
  static const CharsMap map(reference::ModelCharsmap());
  return map;
}

const Rules& ModelRules() {
  static const Rules rules = [] {
    Rules all;
    Map().ForEach([&](std::string_view key, std::string_view replacement) {
      EXPECT_TRUE(all.emplace(key, replacement).second) << "twice: " << testing::PrintToString(key);
    });
    return all;
  }();
  return rules;
}

// The count is that of a walk over the blob in Python, by darts-clone's
// description of a unit; the rules are some that anyone can check.
TEST(CharsMap, HasTheRulesOfNmtNfkc) {
  EXPECT_EQ(reference::ModelCharsmap().size(), 237544u);
  const Rules& rules = ModelRules();
  EXPECT_EQ(rules.size(), 224712u);
  EXPECT_EQ(rules.at("\u2026"), "...");
  EXPECT_EQ(rules.at("\uff21"), "A");
  EXPECT_EQ(rules.at("\u3000"), " ");
  EXPECT_EQ(rules.at("\x01"), "");
  EXPECT_EQ(rules.at("e\u0301"), "\u00e9");
  EXPECT_EQ(rules.at("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_FALSE(rules.contains("a"));
  for (const auto& [key, replacement] : rules) {
    ASSERT_TRUE(IsWellFormedUtf8(key) && IsWellFormedUtf8(replacement)) << testing::PrintToString(key);
  }
}

TEST(CharsMap, ShortestAndLongestAreThoseOfAMap) {
  const Rules& rules = ModelRules();
  std::vector<std::string_view> keys;
  for (const auto& [key, replacement] : rules) keys.push_back(key);
  std::mt19937 random(4);
  size_t found = 0, different = 0;
  for (int n = 0; n < 100000; ++n) {
    std::string text(keys[random() % keys.size()]);
    if (random() % 4 == 0) text.resize(random() % text.size());
    if (random() % 3 == 0) text += keys[random() % keys.size()];
    if (random() % 4 == 0) text.insert(random() % (text.size() + 1), 1, static_cast<char>(random()));
    std::optional<CharsMap::Match> shortest, longest;
    for (size_t length = 1; length <= text.size(); ++length) {
      const auto it = rules.find(std::string_view(text).substr(0, length));
      if (it == rules.end()) continue;
      longest = CharsMap::Match{length, it->second};
      if (!shortest) shortest = longest;
    }
    const auto check = [&](const std::optional<CharsMap::Match>& got, const std::optional<CharsMap::Match>& want) {
      ASSERT_EQ(got.has_value(), want.has_value()) << testing::PrintToString(text);
      if (!want) return;
      EXPECT_EQ(got->length, want->length) << testing::PrintToString(text);
      EXPECT_EQ(got->replacement, want->replacement) << testing::PrintToString(text);
    };
    check(Map().Shortest(text), shortest);
    check(Map().Longest(text), longest);
    found += shortest.has_value();
    different += shortest && shortest->length != longest->length;
    const auto at = rules.lower_bound(text);
    EXPECT_EQ(Map().StartsKey(text), text.empty() || (at != rules.end() && at->first.starts_with(text)))
        << testing::PrintToString(text);
  }
  EXPECT_GT(found, 10000u);
  EXPECT_GT(different, 100u);
}

TEST(CharsMap, ForEachWithALimitIsThoseUpToIt) {
  for (const size_t limit : {0, 1, 2, 3, 5}) {
    size_t count = 0;
    Map().ForEach(limit, [&](std::string_view key, std::string_view replacement) {
      ASSERT_LE(key.size(), limit);
      ASSERT_EQ(ModelRules().find(key)->second, replacement);
      ++count;
    });
    size_t want = 0;
    for (const auto& [key, replacement] : ModelRules()) want += key.size() <= limit;
    EXPECT_EQ(count, want);
  }
}

TEST(CharsMap, ExpansionIsThatOfTheWorstRule) {
  size_t bytes = 1, characters = 1, escaped = 1;
  for (const auto& [key, replacement] : ModelRules()) {
    size_t count = 0, blanks = 0;
    for (const char c : replacement) count += !IsContinuation(static_cast<uint8_t>(c)), blanks += c == ' ';
    bytes = std::max(bytes, (replacement.size() + key.size() - 1) / key.size());
    characters = std::max(characters, (count + key.size() - 1) / key.size());
    escaped = std::max(escaped, (replacement.size() + 2 * blanks + key.size() - 1) / key.size());
  }
  EXPECT_EQ(Map().MaxExpansion(), bytes);
  EXPECT_EQ(Map().MaxCharacterExpansion(), characters);
  EXPECT_EQ(Map().MaxEscapedExpansion(), escaped);
  EXPECT_GT(escaped, bytes);  // U+FDFA: four words
  EXPECT_EQ(CharsMap().MaxExpansion(), 1u);
  EXPECT_EQ(CharsMap().MaxEscapedExpansion(), 1u);
}

TEST(CharsMap, AsciiInLongerKeysIsWhatTheRulesHave) {
  std::set<char> want;
  for (const auto& [key, replacement] : ModelRules()) {
    if (key.size() > 1) want.insert(key.begin(), key.end());
  }
  size_t inside = 0;
  for (uint8_t byte = 0; byte < 0x80; ++byte) {
    EXPECT_EQ(Map().IsInLongerKey(byte), want.contains(static_cast<char>(byte))) << int{byte};
    inside += Map().IsInLongerKey(byte);
    EXPECT_FALSE(CharsMap().IsInLongerKey(byte));
  }
  EXPECT_GT(inside, 50u);  // letters and their marks
  EXPECT_LT(inside, 128u);
}

TEST(CharsMap, EmptyHasNoRule) {
  const CharsMap empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_FALSE(empty.Shortest("\u2026"));
  EXPECT_FALSE(empty.Longest("a"));
  EXPECT_FALSE(empty.StartsKey(""));
}

TEST(CharsMapCheck, AcceptsTheModels) { EXPECT_EQ(CharsMap::Check(reference::ModelCharsmap()), std::nullopt); }

// A cut array or header is refused; a cut in the replacements where a leaf points
// behind the end, or inside a character.
TEST(CharsMapCheck, RefusesTruncations) {
  const std::string& blob = reference::ModelCharsmap();
  for (size_t size = 0; size < 64; ++size) EXPECT_TRUE(CharsMap::Check(std::string_view(blob).substr(0, size))) << size;
  std::mt19937 random(6);
  // The last replacements are some rule's: without 64 bytes of them a leaf is cut off.
  for (int n = 0; n < 200; ++n) {
    const size_t size = random() % (blob.size() - 64);
    EXPECT_TRUE(CharsMap::Check(std::string_view(blob).substr(0, size))) << size;
  }
}

// Whatever bits are wrong: Check refuses, or every walk stays inside and says
// well-formed text. (AddressSanitizer sees a read outside.)
TEST(CharsMapCheck, FlippedBitsAreRefusedOrHarmless) {
  std::string blob = reference::ModelCharsmap();
  std::mt19937 random(7);
  const std::vector<std::string> texts = {"\u2026", "e\u0301x", "\uff21\uff22", "\x01", "\ufdfa", "\u1100\u1161\u11a8", "\xff\xfe", "abc"};
  size_t refused = 0, accepted = 0;
  constexpr size_t kFew = 20;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(6);  // slow machines try fewer
  const auto go_on = [&] { return refused <= kFew || accepted <= kFew || std::chrono::steady_clock::now() < end; };
  for (int n = 0; n < 3000 && go_on(); ++n) {
    std::vector<size_t> flipped(1 + random() % 3);
    for (size_t& bit : flipped) {
      // Often in the first units: those that all walks meet.
      bit = random() % (n % 2 == 0 ? 8 * 4096 : 8 * blob.size());
      blob[bit / 8] = static_cast<char>(blob[bit / 8] ^ 1 << bit % 8);
    }
    if (CharsMap::Check(blob)) {
      ++refused;
    } else {
      ++accepted;
      if (accepted % 16 == 0) {  // Making one walks it all.
        const CharsMap map(blob);
        for (const std::string& text : texts) {
          for (const auto& match : {map.Shortest(text), map.Longest(text)}) {
            if (!match) continue;
            EXPECT_LE(match->length, text.size());
            EXPECT_TRUE(IsWellFormedUtf8(match->replacement));
            EXPECT_LE(match->replacement.size(), map.MaxExpansion() * match->length);
          }
        }
      }
    }
    for (const size_t bit : flipped) blob[bit / 8] = static_cast<char>(blob[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_EQ(blob, reference::ModelCharsmap());
  EXPECT_GT(refused, kFew);
  EXPECT_GT(accepted, kFew);
}

}  // namespace
}  // namespace trellis::internal
