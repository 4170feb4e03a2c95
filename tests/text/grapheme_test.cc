// Clusters and word characters against the crates that the reference uses
// (grapheme_golden.txt; the sweeps in it cover every code point), and the
// scanner against the plain rules.
#include "trellis/internal/text/grapheme.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/reference/grapheme.h"

namespace trellis::internal {
namespace {

using Text = std::vector<uint32_t>;

// For each code point but the first, whether a cluster begins there.
std::vector<bool> Boundaries(std::span<const uint32_t> text) {
  std::vector<bool> boundaries;
  GraphemeScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0) {
      scanner.Reset(text[i]);
    } else {
      boundaries.push_back(scanner.BoundaryBefore(text[i]));
    }
  }
  return boundaries;
}

std::vector<bool> ReferenceBoundaries(std::span<const uint32_t> text) {
  std::vector<bool> boundaries;
  for (size_t i = 1; i < text.size(); ++i) boundaries.push_back(reference::IsGraphemeBoundary(text, i));
  return boundaries;
}

// As in the golden: code points in hex, `|` where a cluster begins.
std::string Print(std::span<const uint32_t> text, const std::vector<bool>& boundaries) {
  std::ostringstream out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0) out << (boundaries[i - 1] ? " | " : " ");
    out.fill('0');
    out.width(4);
    out << std::hex << std::uppercase << text[i];
  }
  return out.str();
}

// The lines of the golden of one kind, without the kind.
std::vector<std::string> GoldenLines(const std::string& kind) {
  std::ifstream file(TRELLIS_SOURCE_DIR "/tests/text/grapheme_golden.txt");
  EXPECT_TRUE(file) << "tests/text/grapheme_golden.txt cannot be read";
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kind + " ")) lines.push_back(line.substr(kind.size() + 1));
  }
  return lines;
}

std::vector<std::string> Fields(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> fields;
  for (std::string field; in >> field;) fields.push_back(field);
  return fields;
}

uint32_t CodePoint(const std::string& hex) { return static_cast<uint32_t>(std::stoul(hex, nullptr, 16)); }

class Fnv {
 public:
  void Add(bool bit) { hash_ = (hash_ ^ (bit ? 1 : 0)) * 0x100000001b3; }
  std::string Hex() const {
    std::ostringstream out;
    out.fill('0');
    out.width(16);
    out << std::hex << hash_;
    return out.str();
  }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

bool IsScalarValue(uint32_t code_point) { return code_point < 0xD800 || code_point > 0xDFFF; }

// One code point of each combination of properties, found in the tables.
const std::vector<uint32_t>& OneOfEachKind() {
  static const std::vector<uint32_t> kinds = [] {
    std::vector<uint32_t> found;
    std::vector<bool> seen(256);
    for (uint32_t c = 0; c < 0x110000; ++c) {
      const uint8_t kind = UnicodeProperties(c) & (kGraphemeBreakMask | kIndicConjunctMask);
      if (!seen[kind]) found.push_back(c);
      seen[kind] = true;
    }
    return found;
  }();
  return kinds;
}

TEST(GraphemeTest, TextsAsInTheReference) {
  const std::vector<std::string> lines = GoldenLines("text");
  ASSERT_GE(lines.size(), 400u);
  for (const std::string& line : lines) {
    Text text;
    for (const std::string& field : Fields(line)) {
      if (field != "|") text.push_back(CodePoint(field));
    }
    EXPECT_EQ(Print(text, Boundaries(text)), line);
    EXPECT_EQ(Print(text, ReferenceBoundaries(text)), line) << "by the plain rules";
  }
}

TEST(GraphemeTest, EveryCodePointAsInTheReference) {
  const std::vector<std::string> lines = GoldenLines("sweep");
  ASSERT_GE(lines.size(), 20u);
  for (const std::string& line : lines) {
    std::vector<std::string> fields = Fields(line);
    const std::string expected = fields.back();
    fields.pop_back();
    size_t star = 0;
    Text text;
    for (const std::string& field : fields) {
      if (field == "*") star = text.size();
      text.push_back(field == "*" ? 0 : CodePoint(field));
    }
    Fnv hash;
    for (uint32_t c = 0; c < 0x110000; ++c) {
      if (!IsScalarValue(c)) continue;
      text[star] = c;
      GraphemeScanner scanner;
      scanner.Reset(text[0]);
      for (size_t i = 1; i < text.size(); ++i) hash.Add(scanner.BoundaryBefore(text[i]));
    }
    EXPECT_EQ(hash.Hex(), expected) << "in the texts " << line;
  }
}

TEST(GraphemeTest, WordCharactersAsInTheReference) {
  const std::vector<std::string> lines = GoldenLines("word");
  ASSERT_EQ(lines.size(), 1u);
  Fnv hash;
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (IsScalarValue(c)) hash.Add(IsWordCharacter(c));
  }
  EXPECT_EQ(hash.Hex(), lines[0]);
}

TEST(GraphemeTest, AllPairsTriplesAndQuadsAsByThePlainRules) {
  const std::vector<uint32_t>& kinds = OneOfEachKind();
  // 15 values of Grapheme_Cluster_Break; Other and Extend occur with more than one of Indic_Conjunct_Break.
  ASSERT_GE(kinds.size(), 18u);
  for (uint32_t a : kinds) {
    for (uint32_t b : kinds) {
      for (uint32_t c : kinds) {
        for (uint32_t d : kinds) {
          const Text text = {a, b, c, d};
          ASSERT_EQ(Print(text, Boundaries(text)), Print(text, ReferenceBoundaries(text)));
        }
      }
    }
  }
}

TEST(GraphemeTest, RandomTextsAsByThePlainRules) {
  const std::vector<uint32_t>& kinds = OneOfEachKind();
  std::mt19937 random(20);
  for (int round = 0; round < 20000; ++round) {
    // Few kinds in one text, so that long matches of the rules with memory come about.
    Text alphabet;
    for (size_t i = 0; i < 2 + round % 4u; ++i) alphabet.push_back(kinds[random() % kinds.size()]);
    Text text(random() % 24);
    for (uint32_t& c : text)
      c = random() % 16 == 0 ? random() % 0x110000 : alphabet[random() % alphabet.size()];
    ASSERT_EQ(Print(text, Boundaries(text)), Print(text, ReferenceBoundaries(text)));
  }
}

// The invariant of the header: a text may be cut at any boundary and its parts scanned alone.
TEST(GraphemeTest, WhatLiesBeforeABoundaryDecidesNothing) {
  const std::vector<uint32_t>& kinds = OneOfEachKind();
  std::mt19937 random(21);
  for (int round = 0; round < 5000; ++round) {
    Text text(2 + random() % 16);
    for (uint32_t& c : text) c = kinds[random() % kinds.size()];
    const std::vector<bool> all = Boundaries(text);
    for (size_t i = 1; i < text.size(); ++i) {
      if (!all[i - 1]) continue;
      const std::vector<bool> expected(all.begin() + i, all.end());
      ASSERT_EQ(Boundaries(std::span(text).subspan(i)), expected) << Print(text, all) << ", cut at " << i;
    }
  }
}

TEST(GraphemeTest, ResetForgets) {
  GraphemeScanner scanner;
  scanner.Reset(0x1F1E6);
  scanner.Reset(0x1F1E6);
  EXPECT_FALSE(scanner.BoundaryBefore(0x1F1E6));
  scanner.Reset(0x915);
  EXPECT_FALSE(scanner.BoundaryBefore(0x94D));
  scanner.Reset(0x94D);
  EXPECT_TRUE(scanner.BoundaryBefore(0x915));
  scanner.Reset(0xA9);
  scanner.Reset(0x200D);
  EXPECT_TRUE(scanner.BoundaryBefore(0xA9));
}

TEST(GraphemeTest, WhatIsNoScalarValueHasNoProperty) {
  for (uint32_t c :
       {0xD800u, 0xDBFFu, 0xDC00u, 0xDFFFu, 0x110000u, 0x11007Fu, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
    EXPECT_EQ(GraphemeBreakOf(c), GraphemeBreak::kOther) << std::hex << c;
    EXPECT_EQ(IndicConjunctOf(c), IndicConjunct::kNone) << std::hex << c;
    EXPECT_FALSE(IsWordCharacter(c)) << std::hex << c;
    EXPECT_EQ(Boundaries(Text{'a', c, 'a', c, 0x301}), (std::vector<bool>{true, true, true, false}))
        << std::hex << c;
  }
}

}  // namespace
}  // namespace trellis::internal
