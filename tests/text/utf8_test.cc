#include "trellis/internal/text/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/reference/utf8_replacement.h"

namespace trellis::internal {
namespace {

// The text with U+FFFD in place of malformed parts, by DecodeUtf8; positions as
// reference::Replaced has them.
reference::Replaced Decode(std::string_view bytes) {
  reference::Replaced out;
  for (size_t at = 0; at < bytes.size();) {
    const Decoded d = DecodeUtf8(bytes.substr(at));
    EXPECT_GE(d.length, 1u);
    EXPECT_LE(d.length, bytes.size() - at);
    EXPECT_LE(d.code_point, kMaxCodePoint);
    EXPECT_TRUE(d.well_formed || d.code_point == kReplacementCharacter);
    char encoded[kMaxUtf8Bytes];
    out.text.append(encoded, EncodeUtf8(d.code_point, encoded));
    if (d.well_formed) {
      EXPECT_EQ(out.text.substr(out.text.size() - d.length), bytes.substr(at, d.length));
    }
    out.original.resize(out.text.size(), static_cast<uint32_t>(at));
    if (d.length == 0) break;
    at += d.length;
  }
  out.original.push_back(static_cast<uint32_t>(bytes.size()));
  return out;
}

void Check(const std::string& bytes) {
  const reference::Replaced want = reference::ReplaceMalformed(bytes);
  const reference::Replaced got = Decode(bytes);
  ASSERT_EQ(got.text, want.text) << testing::PrintToString(bytes);
  ASSERT_EQ(got.original, want.original) << testing::PrintToString(bytes);
  ASSERT_EQ(IsWellFormedUtf8(bytes), want.text == bytes) << testing::PrintToString(bytes);
}

TEST(Utf8, AllOfOneAndTwoBytes) {
  for (int a = 0; a < 256; ++a) {
    Check({static_cast<char>(a)});
    for (int b = 0; b < 256; ++b) Check({static_cast<char>(a), static_cast<char>(b)});
  }
}

// Three and four bytes from the edges of the ranges in Unicode's table 3-7, and a
// byte behind, so that what is swallowed is seen.
TEST(Utf8, EdgesOfThreeAndFourBytes) {
  const std::vector<int> edges = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
                                  0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
  for (const int a : edges) {
    for (const int b : edges) {
      for (const int c : edges) {
        std::string bytes = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)};
        Check(bytes);
        for (const int d : edges) Check(bytes + static_cast<char>(d));
      }
    }
  }
}

TEST(Utf8, RandomBytes) {
  std::mt19937 random(1);
  for (int n = 0; n < 20000; ++n) {
    std::string bytes(random() % 12, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() : 0x80 + random() % 0x80);
    Check(bytes);
  }
}

// Encode and decode are inverse on every scalar value, and surrogates do not
// come back.
TEST(Utf8, EveryCodePoint) {
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    char bytes[kMaxUtf8Bytes];
    const uint32_t length = EncodeUtf8(c, bytes);
    ASSERT_EQ(length, Utf8Length(c));
    ASSERT_EQ(length, Utf8LengthFromLead(static_cast<uint8_t>(bytes[0])));
    const Decoded d = DecodeUtf8({bytes, length});
    if (c >= 0xD800 && c <= 0xDFFF) {
      ASSERT_FALSE(d.well_formed);
      ASSERT_EQ(d.length, 1u);
      continue;
    }
    ASSERT_TRUE(d.well_formed);
    ASSERT_EQ(d.code_point, c);
    ASSERT_EQ(d.length, length);
  }
}

// White_Space of Unicode 16.0 (PropList.txt).
TEST(Utf8, Whitespace) {
  const std::vector<uint32_t> white = {0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,   0xA0,   0x1680,
                                       0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                       0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  std::vector<uint32_t> found;
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (IsWhitespace(c)) found.push_back(c);
  }
  EXPECT_EQ(found, white);
}

TEST(Utf8, LeadingAndTrailingWhitespace) {
  // [text, leading, trailing]
  const struct {
    std::string text;
    size_t leading, trailing;
  } cases[] = {{"", 0, 0},
               {"a", 0, 0},
               {" \t\n", 3, 3},
               {" a  ", 1, 2},
               {"\u3000a\u00a0\u0085", 3, 4},
               {"\u200b \u200b", 0, 0},          // not White_Space
               {"a\xff ", 0, 1},
               {" \xff", 1, 0},
               {"\xe3\x80 ", 0, 1},              // a cut U+3000
               {" \xe3\x80", 1, 0},
               {"\x80\u3000", 0, 3},
               {"\u3000\x80", 3, 0},             // a stray continuation is no blank
               {"\xe3\x80\x80\x80\x80\x80", 3, 0}};
  for (const auto& c : cases) {
    EXPECT_EQ(LeadingWhitespace(c.text), c.leading) << testing::PrintToString(c.text);
    EXPECT_EQ(TrailingWhitespace(c.text), c.trailing) << testing::PrintToString(c.text);
  }
}

// Against the text cut into characters from the front: blanks at its end.
TEST(Utf8, TrailingWhitespaceLooksBackAsForward) {
  const std::vector<std::string> parts = {" ", "\u3000", "\u00a0", "\u0085", "a", "\x80", "\xe3", "\xe3\x80", "\xc2", "\xf0\x9f", "\xff"};
  std::mt19937 random(2);
  for (int n = 0; n < 50000; ++n) {
    std::string text;
    for (size_t i = random() % 7; i > 0; --i) text += parts[random() % parts.size()];
    size_t begin = 0;  // of the blanks at the end of what was read
    size_t leading = 0;
    for (size_t at = 0; at < text.size();) {
      const Decoded d = DecodeUtf8(std::string_view(text).substr(at));
      at += d.length;
      if (!IsWhitespace(d.code_point)) begin = at;
      if (begin == 0) leading = at;
    }
    ASSERT_EQ(TrailingWhitespace(text), text.size() - begin) << testing::PrintToString(text);
    ASSERT_EQ(LeadingWhitespace(text), leading) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace trellis::internal
