#include "src/format/serde_number.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace trellis::internal {
namespace {

uint64_t Bits(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Each line of the golden: text, tab, the double in hexadecimal or "refused".
TEST(SerdeNumberTest, ReadsScoresAsTokenizersDoes) {
  const std::string path = std::string(TRELLIS_SOURCE_DIR) + "/tests/format/serde_number.golden.txt";
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  size_t lines = 0;
  size_t refused = 0;
  size_t not_nearest = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++lines;
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    const std::string text = line.substr(0, tab);
    const std::string expected = line.substr(tab + 1);
    const SerdeNumber number = ParseSerdeNumber(text);
    if (expected == "refused") {
      ++refused;
      EXPECT_FALSE(number.ok()) << text << " came out as " << number.value;
      continue;
    }
    ASSERT_TRUE(number.ok()) << text;
    const double value = std::strtod(expected.c_str(), nullptr);
    EXPECT_EQ(Bits(number.value), Bits(value)) << text << ": " << number.value << ", expected " << value;
    if (Bits(std::strtod(text.c_str(), nullptr)) != Bits(value)) ++not_nearest;
  }
  // The golden must hold all kinds, or this test says nothing.
  EXPECT_GT(lines, 400u);
  EXPECT_GT(refused, 30u);
  EXPECT_GT(not_nearest, 120u);
}

// What an id may be: serde takes neither 1.0 nor 1e0 nor -0 for an integer.
TEST(SerdeNumberTest, SaysWhichNumbersAreIntegers) {
  using Kind = SerdeNumber::Kind;
  EXPECT_EQ(ParseSerdeNumber("0").kind, Kind::kUnsigned);
  EXPECT_EQ(ParseSerdeNumber("18446744073709551615").integer, UINT64_MAX);
  EXPECT_EQ(ParseSerdeNumber("18446744073709551616").kind, Kind::kFloat);
  EXPECT_EQ(ParseSerdeNumber("-1").kind, Kind::kNegative);
  EXPECT_EQ(ParseSerdeNumber("-0").kind, Kind::kFloat);
  EXPECT_EQ(ParseSerdeNumber("1.0").kind, Kind::kFloat);
  EXPECT_EQ(ParseSerdeNumber("1e0").kind, Kind::kFloat);
  EXPECT_EQ(ParseSerdeNumber("1e400").kind, Kind::kOutOfRange);
  EXPECT_EQ(ParseSerdeNumber("").kind, Kind::kMalformed);
  EXPECT_EQ(ParseSerdeNumber("1 ").kind, Kind::kMalformed);
}

}  // namespace
}  // namespace trellis::internal
