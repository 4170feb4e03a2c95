#include "trellis/internal/stage/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/stage/hf_stage_rows.h"
#include "trellis/internal/stage/split.h"

namespace trellis::internal {
namespace {

using hf_stage::Json;
using hf_stage::String;

struct Cut {
  std::string text;
  uint32_t begin;  // bytes of the source
  uint32_t end;
  friend bool operator==(const Cut&, const Cut&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Cut& cut) {
    return out << testing::PrintToString(cut.text) << " " << cut.begin << "-" << cut.end;
  }
};

// A text, its alignment and its ranges, as they stand between two steps.
struct State {
  std::string bytes;
  std::vector<uint32_t> source;
  std::vector<PreToken> ranges;
  AlignedView view() const { return {bytes, source.data(), 0}; }
};

State Start(const std::string& text) {
  State state{text, {}, {}};
  for (size_t at = 0; at < text.size();) {
    const uint32_t length = DecodeUtf8(std::string_view(text).substr(at)).length;
    state.source.insert(state.source.end(), length, static_cast<uint32_t>(at));
    at += length;
  }
  if (!text.empty()) state.ranges.push_back({0, static_cast<uint32_t>(text.size()), 0});
  return state;
}

void RunStep(Json step, State& state) {
  if (step.is_string()) {
    std::vector<PreToken> out(MaxPreTokens(state.bytes.size()));
    out.resize(WhitespaceSplitStep().Run(state.view(), state.ranges, out));
    state.ranges = out;
    return;
  }
  const MetaspaceStep metaspace({String(step.at(0)), hf_stage::Scheme(std::string_view(step.at(1))), bool(step.at(2))});
  const auto [room, pre_tokens] = metaspace.Room(state.view(), state.ranges);
  State next{std::string(room, '\0'), std::vector<uint32_t>(room), std::vector<PreToken>(pre_tokens)};
  const MetaspaceStep::Sizes sizes =
      metaspace.Run(state.view(), state.ranges, {next.bytes.data(), next.source.data()}, next.ranges);
  ASSERT_LE(sizes.bytes, room);
  ASSERT_LE(sizes.pre_tokens, next.ranges.size());
  next.bytes.resize(sizes.bytes);
  next.source.resize(sizes.bytes);
  next.ranges.resize(sizes.pre_tokens);
  state = next;
}

TEST(PreTokenizer, MatchesReference) {
  const size_t rows = hf_stage::ForEachRow("pre_tokenizer", [](Json row) {
    const std::string text = String(row["text"]);
    SCOPED_TRACE(simdjson::minify(row["chain"]) + " of " + testing::PrintToString(text));
    State state = Start(text);
    for (const Json step : simdjson::dom::array(row["chain"])) RunStep(step, state);
    std::vector<Cut> got, want;
    for (const PreToken& range : state.ranges) {
      ASSERT_LT(range.begin, range.end);
      const uint32_t last = state.source[range.end - 1];
      got.push_back({state.bytes.substr(range.begin, range.end - range.begin), state.source[range.begin],
                     last + DecodeUtf8(std::string_view(text).substr(last)).length});
    }
    for (const Json piece : simdjson::dom::array(row["pieces"])) {
      want.push_back({String(piece.at(0)), static_cast<uint32_t>(uint64_t(piece.at(1))), static_cast<uint32_t>(uint64_t(piece.at(2)))});
    }
    EXPECT_EQ(got, want);
  });
  EXPECT_GT(rows, 1000u);
}

// "first" looks at where the piece of source begins: a later part of a text gets
// no marker, whatever its place in the ranges.
TEST(PreTokenizer, FirstMeansTheStartOfTheSource) {
  const MetaspaceStep first({.prepend_scheme = PrependScheme::kFirst, .split = false});
  for (const uint32_t source : {0u, 5u}) {
    const std::string text = "ab";
    const std::vector<uint32_t> alignment = {source, source + 1};
    const std::vector<PreToken> in = {{0, 2, source}};
    const AlignedView view{text, alignment.data(), 0};
    const MetaspaceStep::Sizes room = first.Room(view, in);
    std::string out(room.bytes, '\0');
    std::vector<uint32_t> out_source(out.size());
    std::vector<PreToken> ranges(room.pre_tokens);
    const auto sizes = first.Run(view, in, {out.data(), out_source.data()}, ranges);
    EXPECT_EQ(out.substr(0, sizes.bytes), source == 0 ? "\u2581ab" : "ab");
    ASSERT_EQ(sizes.pre_tokens, 1u);
    EXPECT_EQ(ranges[0].source, source);
  }
}

// Each later step sees the ranges of the one before, not the whole text.
TEST(PreTokenizer, WhitespaceSplitKeepsToItsRanges) {
  const std::string text = "ab cd ef";
  const std::vector<PreToken> in = {{1, 4, 1}, {6, 8, 6}};
  std::vector<PreToken> out(text.size());
  out.resize(WhitespaceSplitStep().Run({text, nullptr, 0}, in, out));
  ASSERT_EQ(out.size(), 3u);
  const uint32_t want[3][2] = {{1, 2}, {3, 4}, {6, 8}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(out[i].begin, want[i][0]);
    EXPECT_EQ(out[i].end, want[i][1]);
    EXPECT_EQ(out[i].source, want[i][0]);
  }
}

}  // namespace
}  // namespace trellis::internal
