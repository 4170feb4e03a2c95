#include "trellis/internal/stage/decoder.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/stage/hf_stage_rows.h"

namespace trellis::internal {
namespace {

using hf_stage::Json;
using hf_stage::String;

// What `step` writes into `room` bytes; nullopt: it says that they are too few.
template <typename Step>
std::optional<std::string> Decode(const std::vector<std::string>& tokens, size_t room, Step&& step) {
  std::string memory(room, '#');
  TextSink sink(memory);
  TokenPlace place = TokenPlace::kFirst;
  for (const std::string& token : tokens) {
    if (!step(token, place, sink)) return std::nullopt;
    place = TokenPlace::kLater;
  }
  return std::string(sink.text());
}

template <typename Step>
void Check(Json row, Step&& step) {
  SCOPED_TRACE(simdjson::minify(row));
  const std::vector<std::string> tokens = hf_stage::Strings(row["tokens"]);
  const std::string want = String(row["text"]);
  EXPECT_EQ(Decode(tokens, want.size() + 10, step), want);
  EXPECT_EQ(Decode(tokens, want.size(), step), want);
  if (!want.empty()) {
    EXPECT_EQ(Decode(tokens, want.size() - 1, step), std::nullopt);
  }
}

TEST(Decoder, MetaspaceMatchesReference) {
  const size_t rows = hf_stage::ForEachRow("decoder", [](Json row) {
    const MetaspaceDecodeStep step({String(row["replacement"]), hf_stage::Scheme(std::string_view(row["scheme"]))});
    Check(row, [&](std::string_view token, TokenPlace place, TextSink& out) { return step.Run(token, place, out); });
  });
  EXPECT_GT(rows, 300u);
}

TEST(Decoder, JoinMatchesReference) {
  EXPECT_GT(hf_stage::ForEachRow("join", [](Json row) { Check(row, RunJoin); }), 60u);
}

}  // namespace
}  // namespace trellis::internal
