#include "trellis/internal/stage/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace trellis::internal {
namespace {

using Kind = Pattern::Kind;

// All matches of `text`, each in brackets. What they are with Oniguruma's syntax
// of Ruby is in its documentation (doc/RE); tests/golden/stage_pipelines.jsonl
// has more of them from the reference itself.
std::string Matches(Kind kind, const std::string& pattern, std::string text) {
  EXPECT_EQ(Pattern::Check(kind, pattern), std::nullopt) << pattern;
  const Pattern compiled(kind, pattern);
  std::string out;
  size_t at = 0;
  while (const auto match = compiled.Find(text, at)) {
    EXPECT_LT(match->begin, match->end);
    EXPECT_GE(match->end - match->begin, compiled.shortest());
    out += text.substr(at, match->begin - at) + "[" + text.substr(match->begin, match->end - match->begin) + "]";
    at = match->end;
  }
  return out + text.substr(at);
}

TEST(Pattern, Strings) {
  EXPECT_EQ(Matches(Kind::kString, "aa", "aaabaa"), "[aa]ab[aa]");
  EXPECT_EQ(Matches(Kind::kString, ".*", "a.*b"), "a[.*]b");
  EXPECT_EQ(Matches(Kind::kString, "\u00e9", "e\u00e9"), "e[\u00e9]");
}

TEST(Pattern, RegularExpressions) {
  EXPECT_EQ(Matches(Kind::kRegex, "a|ab", "abab"), "[a]b[a]b");  // the first alternative, not the longest
  EXPECT_EQ(Matches(Kind::kRegex, "ab|a", "aba"), "[ab][a]");
  EXPECT_EQ(Matches(Kind::kRegex, "b{2,3}", "bbbbbb b"), "[bbb][bbb] b");
  EXPECT_EQ(Matches(Kind::kRegex, "b{2,}?", "bbbbb"), "[bb][bb]b");
  EXPECT_EQ(Matches(Kind::kRegex, "a.b", "a\nb a\u6771b"), "a\nb [a\u6771b]");
  EXPECT_EQ(Matches(Kind::kRegex, "[^a-c]", "a\nb"), "a[\n]b");
  EXPECT_EQ(Matches(Kind::kRegex, "[a\\-z]+", "a-z b"), "[a-z] b");
  EXPECT_EQ(Matches(Kind::kRegex, "[-a]+|[b-]", "-a b"), "[-a] [b]");
  EXPECT_EQ(Matches(Kind::kRegex, "\\u00e9|\\t|\\.", "\u00e9\tx."), "[\u00e9][\t]x[.]");
  EXPECT_EQ(Matches(Kind::kRegex, "(?:(a)b)+c", "ababc"), "[ababc]");
  EXPECT_EQ(Matches(Kind::kRegex, "(?i)k1s", "K1S \u212a1\u017f k1z"), "[K1S] [\u212a1\u017f] k1z");
  // Latin-1's fractions are word characters, but not inside a class.
  EXPECT_EQ(Matches(Kind::kRegex, "\\w", "\u00bda"), "[\u00bd][a]");
  EXPECT_EQ(Matches(Kind::kRegex, "[\\w]", "\u00bda"), "\u00bd[a]");
}

TEST(Pattern, RefusesByName) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"a*", "what can match nothing"},
      {"(?:a|)", "what can match nothing"},
      {"x(?:a?)*", "repeating what can match nothing"},
      {"(?=a)b", "a group beginning with \"(?\""},
      {"(?<name>a)", "a group beginning with \"(?\""},
      {"^a", "the anchor \"^\""},
      {"a$", "the anchor \"$\""},
      {"\\ba", "\"\\b\""},
      {"(a)\\1", "\"\\1\""},
      {"\\h+", "\"\\h\""},
      {"a++", "a quantifier behind a quantifier"},
      {"a{2}?", "\"{n}?\""},
      {"a{,2}", "a \"{\" other than in {n}, {n,} and {n,m}"},
      {"a{3,2}", "a \"{\" other than in {n}, {n,} and {n,m}"},
      {"a{1001}", "more than 1000 repetitions"},
      {"*a", "a quantifier without what it repeats"},
      {"[[:alpha:]]", "a class inside a class"},
      {"[a&&b]", "a class inside a class"},
      {"[]a]", "a class that begins with \"]\""},
      {"[z-a]", "a range that does not end behind its begin"},
      {"[\\d-z]", "a range that begins with a class"},
      {"[a-b-c]", "a \"-\" inside a class, neither in a range nor escaped"},
      {"[a", "a \"[\" without \"]\""},
      {"(a", "a \"(\" without \")\""},
      {"a)", "an unmatched \")\""},
      {"\\p{Han}", "\"p{Han}\" (not a general category)"},
      {"a\\", "a backslash at the end"},
      {"(?i)ss", "\"ss\" below (?i)"},
      {"(?i)s+", "repeating a letter below (?i)"},
      {"(?i)\u00e9", "other than ASCII below (?i)"},
      {"(?i)[a]", "a class below (?i)"},
      {"(?i)\\w", "a class of letters below (?i)"},
  };
  for (const auto& [pattern, what] : refused) {
    const auto problem = Pattern::Check(Kind::kRegex, pattern);
    ASSERT_TRUE(problem.has_value()) << pattern;
    EXPECT_EQ(*problem, what + " is not supported in a regular expression (Oniguruma's syntax, run by RE2)") << pattern;
  }
  EXPECT_EQ(Pattern::Check(Kind::kRegex, ""), "empty, expected something to look for");
  EXPECT_EQ(Pattern::Check(Kind::kRegex, "\x80"), "malformed UTF-8, expected well-formed UTF-8");
}

// Whatever the bytes: a problem or a pattern, no crash.
TEST(Pattern, AnyBytes) {
  const std::string parts = "ab()[]{}|*+?.\\^-,123piuLN&:<>=!$ \xc3\xa9\xff";
  uint32_t state = 1;
  size_t sound = 0;
  for (int n = 0; n < 20000; ++n) {
    std::string pattern;
    for (uint32_t length = state % 9; pattern.size() <= length;) {
      state = state * 1664525 + 1013904223;
      pattern += parts[(state >> 16) % parts.size()];
    }
    if (Pattern::Check(Kind::kRegex, pattern)) continue;
    ++sound;
    const Pattern compiled(Kind::kRegex, pattern);
    const auto match = compiled.Find("ab(1)\u00e9 a-b", 0);
    EXPECT_TRUE(!match || match->begin < match->end) << pattern;
  }
  EXPECT_GT(sound, 200u);
}

}  // namespace
}  // namespace trellis::internal
