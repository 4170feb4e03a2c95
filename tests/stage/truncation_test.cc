#include "trellis/internal/stage/truncation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/stage/hf_stage_rows.h"

namespace trellis::internal {
namespace {

using hf_stage::Json;

Truncate Strategy(std::string_view name) {
  if (name == "longest_first") return Truncate::kLongestFirst;
  if (name == "only_first") return Truncate::kOnlyFirst;
  if (name == "only_second") return Truncate::kOnlySecond;
  throw std::runtime_error(std::string(name) + " is no strategy");
}

// Every number of tokens and every room there is in the table; second = -1: one
// text. Where the reference raises there are only the two numbers.
TEST(Truncation, MatchesReference) {
  size_t cases = 0, errors = 0;
  hf_stage::ForEachRow("truncation", [&](Json row) {
    const std::string name = hf_stage::String(row["strategy"]);
    const auto room = static_cast<size_t>(uint64_t(row["room"]));
    for (const Json one : simdjson::dom::array(row["kept"])) {
      const auto numbers = hf_stage::Numbers<int>(one);
      const std::optional<size_t> second = numbers.at(1) < 0 ? std::nullopt : std::optional<size_t>(static_cast<size_t>(numbers.at(1)));
      SCOPED_TRACE(name + ", room " + std::to_string(room) + ", " + simdjson::minify(one));
      const auto kept = RunTruncation(Strategy(name), room, static_cast<size_t>(numbers.at(0)), second);
      ++cases;
      if (numbers.size() == 2) {
        EXPECT_FALSE(kept.has_value());
        ++errors;
        continue;
      }
      ASSERT_TRUE(kept);
      EXPECT_EQ(kept->first, static_cast<size_t>(numbers.at(2)));
      EXPECT_EQ(kept->second, static_cast<size_t>(numbers.at(3)));
    }
  });
  EXPECT_EQ(cases, 3u * 13 * 9 * 10);
  EXPECT_GT(errors, 100u);
}

TEST(Truncation, NeverKeepsEverything) {
  const auto kept = RunTruncation(Truncate::kNever, 0, 1000, 7);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->first, 1000u);
  EXPECT_EQ(kept->second, 7u);
}

}  // namespace
}  // namespace trellis::internal
