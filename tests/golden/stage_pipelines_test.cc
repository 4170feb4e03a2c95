// Normalizers, pre-tokenizers, added tokens and fallbacks as whole tokenizer.json
// files have them, each alone and as published families put them together: ids
// and byte offsets of stage_pipelines.jsonl (tools/make_stage_pipelines_golden).
#include <gtest/gtest.h>
#include <simdjson.h>

#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/golden/golden_check.h"
#include "trellis/load.h"
#include "trellis/tokenizer.h"

namespace trellis::golden {
namespace {

using Json = simdjson::dom::element;

// One file, however its tables are built.
std::vector<Tokenizer> Load(const std::string& name, std::string_view file) {
  std::vector<Tokenizer> tokenizers;
  const auto spec = ParseTokenizerJson(file);
  EXPECT_TRUE(spec.ok()) << name << ": " << spec.status();
  if (!spec.ok()) return tokenizers;
  for (const Variant& variant : kVariants) {
    auto tokenizer = Make(*spec, variant);
    EXPECT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.status();
    if (tokenizer.ok()) tokenizers.push_back(*std::move(tokenizer));
  }
  return tokenizers;
}

void Check(const Tokenizer& tokenizer, const Json& row) {
  const std::string_view text = row["text"];
  const auto encoded = tokenizer.Encode(Input{text}, {.add_special_tokens = false});
  if (row["expect_error"].error() == simdjson::SUCCESS) {
    EXPECT_EQ(encoded.status().code(), absl::StatusCode::kInvalidArgument);
    return;
  }
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  std::vector<TokenId> ids;
  for (const int64_t id : simdjson::dom::array(row["ids"])) ids.push_back(static_cast<TokenId>(id));
  EXPECT_EQ(encoded->ids, ids);
  size_t at = 0;
  for (const Json range : simdjson::dom::array(row["byte_offsets"])) {
    ASSERT_LT(at, encoded->offsets.size());
    EXPECT_EQ(encoded->offsets[at].begin, uint64_t(range.at(0))) << "token " << at;
    EXPECT_EQ(encoded->offsets[at].end, uint64_t(range.at(1))) << "token " << at;
    ++at;
  }
}

TEST(StagePipelines, MatchReference) {
  std::ifstream lines(TRELLIS_SOURCE_DIR "/tests/golden/stage_pipelines.jsonl", std::ios::binary);
  ASSERT_TRUE(lines);
  simdjson::dom::parser parser;
  std::vector<Tokenizer> tokenizers;
  size_t files = 0, cases = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json row = parser.parse(line);
    std::string_view name;
    if (row["pipeline"].get(name) == simdjson::SUCCESS) {
      if (HasFailure()) return;  // one file's differences are enough to read
      // The file's own bytes: scores are to be read as they are written.
      constexpr std::string_view kKey = "\"file\":";
      const size_t begin = line.find(kKey) + kKey.size();
      tokenizers = Load(std::string(name), std::string_view(line).substr(begin, line.size() - begin - 1));
      ASSERT_EQ(tokenizers.size(), std::size(kVariants));
      ++files;
    } else if (row["name"].get(name) == simdjson::SUCCESS) {
      SCOPED_TRACE(std::string(name) + " " + simdjson::minify(row["text"]));
      for (const Tokenizer& tokenizer : tokenizers) Check(tokenizer, row);
      ++cases;
    }
  }
  EXPECT_GT(files, 70u);
  EXPECT_GT(cases, 4000u);
}

}  // namespace
}  // namespace trellis::golden
