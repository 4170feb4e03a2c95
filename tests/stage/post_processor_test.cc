#include "trellis/internal/stage/post_processor.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/stage/hf_stage_rows.h"

namespace trellis::internal {
namespace {

using hf_stage::Json;
using hf_stage::String;

std::vector<TemplatePiece> Template(Json pieces, const std::map<std::string, std::vector<TokenId>>& specials) {
  std::vector<TemplatePiece> out;
  for (const Json piece : simdjson::dom::array(pieces)) {
    Json part;
    if (piece["Sequence"].get(part) == simdjson::SUCCESS) {
      const auto sequence = std::string_view(part["id"]) == "A" ? Sequence::kA : Sequence::kB;
      const auto type_id = static_cast<uint8_t>(uint64_t(part["type_id"]));
      // In place: of a move, GCC 12 thinks that it reads the other alternative's memory.
      out.emplace_back(std::in_place_type<TemplateSequence>, TemplateSequence{sequence, type_id});
    } else {
      part = piece["SpecialToken"];
      const std::string name = String(part["id"]);
      out.push_back(TemplateSpecial{specials.at(name), name, static_cast<uint8_t>(uint64_t(part["type_id"]))});
    }
  }
  return out;
}

// The steps, with `first` and `second` tokens in the texts' places (ids 1 and 2
// in the reference's encodings).
TEST(PostProcessor, MatchesReference) {
  const size_t rows = hf_stage::ForEachRow("post_processor", [](Json row) {
    SCOPED_TRACE(simdjson::minify(row));
    std::map<std::string, std::vector<TokenId>> specials;
    for (const auto& [name, ids] : simdjson::dom::object(row["specials"])) {
      specials[std::string(name)] = hf_stage::Numbers<TokenId>(ids);
    }
    const PostProcessor post_processor({Template(row["single"], specials), Template(row["pair"], specials)});
    const auto first = static_cast<size_t>(int64_t(row["first"]));
    const int64_t second = int64_t(row["second"]);
    const auto shape = second < 0 ? PostProcessor::Shape::kSingle : PostProcessor::Shape::kPair;
    std::vector<TokenId> ids;
    std::vector<int> type_ids, mask;
    for (const TemplateStep& step : post_processor.steps(shape)) {
      const bool special = step.kind == TemplateStep::Kind::kSpecial;
      const bool is_first = step.kind == TemplateStep::Kind::kFirst;
      const size_t count = special ? 1 : is_first ? first : static_cast<size_t>(second);
      ids.insert(ids.end(), count, special ? step.id : is_first ? 1 : 2);
      type_ids.insert(type_ids.end(), count, step.type_id);
      mask.insert(mask.end(), count, special);
    }
    EXPECT_EQ(ids, hf_stage::Numbers<TokenId>(row["ids"]));
    EXPECT_EQ(type_ids, hf_stage::Numbers<int>(row["type_ids"]));
    EXPECT_EQ(mask, hf_stage::Numbers<int>(row["mask"]));
    EXPECT_EQ(post_processor.NumAdded(shape), static_cast<size_t>(uint64_t(row["added"])));
  });
  EXPECT_EQ(rows, 30u);
}

TEST(PostProcessor, MaxRepeatsCountsOneTextsMostUses) {
  const TemplateSequence a{Sequence::kA, 0}, b{Sequence::kB, 0};
  EXPECT_EQ(PostProcessor({{a}, {a, b}}).MaxRepeats(), 1u);
  EXPECT_EQ(PostProcessor({{a, a}, {a, b}}).MaxRepeats(), 2u);
  EXPECT_EQ(PostProcessor({{a}, {b, a, b, b}}).MaxRepeats(), 3u);
  EXPECT_EQ(PostProcessor({{}, {}}).MaxRepeats(), 1u);
}

}  // namespace
}  // namespace trellis::internal
