#include "trellis/internal/stage/added_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/stage/hf_stage_rows.h"

namespace trellis::internal {

bool operator==(const AddedTokenMatch& a, const AddedTokenMatch& b) {
  return a.begin == b.begin && a.end == b.end && a.id == b.id;
}
void PrintTo(const AddedTokenMatch& match, std::ostream* out) {
  *out << match.id << " at " << match.begin << "-" << match.end;
}

namespace {

using hf_stage::Json;
using hf_stage::String;

// [content, flags, id]; flags: l and r strip, w is a single word, s special.
std::vector<AddedTokenRule> Rules(Json tokens) {
  std::vector<AddedTokenRule> rules;
  for (const Json token : simdjson::dom::array(tokens)) {
    const std::string flags = String(token.at(1));
    const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
    rules.push_back({String(token.at(0)), static_cast<TokenId>(int64_t(token.at(2))), has('w'), has('l'), has('r'), has('s')});
  }
  return rules;
}

std::vector<AddedTokenMatch> Matches(const std::vector<AddedTokenRule>& rules, std::string_view text,
                                     MatchSpecial special = MatchSpecial::kYes) {
  const AddedTokenMatcher matcher(rules);
  AddedTokenMatcher::Pass pass(matcher, text, special);
  std::vector<AddedTokenMatch> matches;
  for (AddedTokenMatch match; pass.Next(match);) matches.push_back(match);
  return matches;
}

TEST(AddedTokens, MatchReference) {
  const size_t rows = hf_stage::ForEachRow("added_tokens", [](Json row) {
    const std::string text = String(row["text"]);
    SCOPED_TRACE(simdjson::minify(row["tokens"]) + " in " + testing::PrintToString(text));
    std::vector<AddedTokenMatch> want;
    for (const Json match : simdjson::dom::array(row["matches"])) {
      const auto numbers = hf_stage::Numbers<size_t>(match);
      want.push_back({numbers.at(1), numbers.at(2), static_cast<TokenId>(numbers.at(0))});
    }
    EXPECT_EQ(Matches(Rules(row["tokens"]), text), want);
  });
  EXPECT_GT(rows, 900u);
}

// Thousands of tokens are looked for by their first bytes; what is found is the
// leftmost, then the longest, as by trying all at each byte.
TEST(AddedTokens, ManyAreFoundAsOneByOne) {
  for (const size_t shortest : {1, 2, 3, 4, 6}) {
    std::mt19937 random(static_cast<uint32_t>(shortest));
    const auto word = [&](size_t bytes) {
      std::string out;
      while (out.size() < bytes) out += "abcde\xC3\xA9"[random() % 7];
      return out;
    };
    std::vector<AddedTokenRule> rules;
    for (TokenId id = 0; id < 300; ++id) rules.push_back({word(shortest + random() % 4), id});
    for (int text_number = 0; text_number < 200; ++text_number) {
      const std::string text = word(random() % 60);
      std::vector<AddedTokenMatch> want;
      for (size_t at = 0; at < text.size();) {
        const AddedTokenRule* longest = nullptr;
        for (const AddedTokenRule& rule : rules) {
          if (!std::string_view(text).substr(at).starts_with(rule.pattern)) continue;
          if (longest == nullptr || rule.pattern.size() > longest->pattern.size()) longest = &rule;
        }
        if (longest != nullptr) want.push_back({at, at + longest->pattern.size(), longest->id});
        at += longest != nullptr ? longest->pattern.size() : 1;
      }
      ASSERT_EQ(Matches(rules, text), want) << shortest << ' ' << testing::PrintToString(text);
    }
  }
}

// The shield: as if the special rules were not there.
TEST(AddedTokens, WithoutSpecialsTheyAreOrdinaryText) {
  size_t with_specials = 0;
  hf_stage::ForEachRow("added_tokens", [&](Json row) {
    const std::vector<AddedTokenRule> rules = Rules(row["tokens"]);
    std::vector<AddedTokenRule> ordinary = rules;
    std::erase_if(ordinary, [](const AddedTokenRule& rule) { return rule.special; });
    with_specials += ordinary.size() < rules.size();
    EXPECT_EQ(Matches(rules, String(row["text"]), MatchSpecial::kNo), Matches(ordinary, String(row["text"])));
  });
  EXPECT_GT(with_specials, 50u);
}

// Here the reference panics ("AddedVocabulary bad split"); we leave out what the
// match before has taken.
TEST(AddedTokens, ABlankThatIsTakenIsNoMatch) {
  const std::vector<AddedTokenRule> rules = {{"\u3000", 1, false, true}, {"\u00e9", 2, false, false, true}};
  EXPECT_EQ(Matches(rules, "\u00e9\u3000\u3000\u3000x"), (std::vector<AddedTokenMatch>{{0, 11, 2}}));
  EXPECT_EQ(Matches(rules, "\u00e9 \u3000x\u3000"), (std::vector<AddedTokenMatch>{{0, 6, 2}, {7, 10, 1}}));
}

TEST(AddedTokens, OfEqualPatternsTheFirstCounts) {
  const std::vector<AddedTokenRule> rules = {{"ab", 7}, {"ab", 8}, {"", 9}};
  EXPECT_EQ(Matches(rules, "xab"), (std::vector<AddedTokenMatch>{{1, 3, 7}}));
  EXPECT_EQ(AddedTokenMatcher(rules).shortest(), 2u);
  EXPECT_TRUE(AddedTokenMatcher({}).empty());
  EXPECT_EQ(AddedTokenMatcher({}).shortest(), 0u);
}

// Malformed bytes are U+FFFD, which is neither blank nor part of a word.
TEST(AddedTokens, MalformedNeighboursAreNoWordAndNoBlank) {
  const std::vector<AddedTokenRule> rules = {{"ab", 1, true, true, true}};
  for (const std::string bad : {"\xff", "\xe2\x96", "\xc3", "\x80", "\xf0\x9f\x98"}) {
    EXPECT_EQ(Matches(rules, bad + "ab" + bad),
              (std::vector<AddedTokenMatch>{{bad.size(), bad.size() + 2, 1}}))
        << testing::PrintToString(bad);
    EXPECT_EQ(Matches(rules, bad + " ab " + bad), (std::vector<AddedTokenMatch>{{bad.size(), bad.size() + 4, 1}}));
  }
  EXPECT_TRUE(Matches(rules, "xab").empty());
}

}  // namespace
}  // namespace trellis::internal
