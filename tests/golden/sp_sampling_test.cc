// N-best and samples of the SentencePiece dialect against the wheel's
// (make_sampling_golden.py): ids, their order, and what each seed draws.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "trellis/load.h"
#include "trellis/sampling.h"

namespace trellis::golden {
namespace {

using simdjson::dom::element;

constexpr char kFolder[] = TRELLIS_SOURCE_DIR "/tests/golden/";

// Loaded once.
const Tokenizer& Model(const std::string& name) {
  static std::map<std::string, Tokenizer> loaded;
  const auto found = loaded.find(name);
  if (found != loaded.end()) return found->second;
  absl::StatusOr<Tokenizer> tokenizer = LoadTokenizer(std::string(kFolder) + "sp_models/" + name + ".model");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return loaded.emplace(name, *std::move(tokenizer)).first->second;
}

std::vector<std::vector<TokenId>> Lists(element value) {
  std::vector<std::vector<TokenId>> lists;
  for (const element list : simdjson::dom::array(value)) {
    std::vector<TokenId>& ids = lists.emplace_back();
    for (const element id : simdjson::dom::array(list)) ids.push_back(static_cast<TokenId>(int64_t(id)));
  }
  return lists;
}

std::vector<std::vector<TokenId>> NBest(const Tokenizer& tokenizer, std::string_view text, element row) {
  std::vector<std::vector<TokenId>> lists;
  const auto best = EncodeNBest(tokenizer, text, uint64_t(row["count"]));
  EXPECT_TRUE(best.ok()) << best.status();
  for (const Segmentation& one : *best) lists.push_back(one.ids);
  return lists;
}

std::vector<std::vector<TokenId>> Samples(const Tokenizer& tokenizer, std::string_view text, element row, size_t count) {
  std::vector<std::vector<TokenId>> lists;
  std::mt19937 random(static_cast<uint32_t>(uint64_t(row["seed"])));
  const SampleOptions options{static_cast<int>(int64_t(row["nbest_size"])), static_cast<float>(double(row["alpha"]))};
  for (size_t i = 0; i < count; ++i) {
    const auto sample = EncodeSample(tokenizer, text, options, random);
    EXPECT_TRUE(sample.ok()) << sample.status();
    lists.push_back(sample->ids);
  }
  return lists;
}

TEST(SentencePieceSampling, MatchesReference) {
  std::ifstream file(std::string(kFolder) + "sp_sampling.jsonl", std::ios::binary);
  ASSERT_TRUE(file);
  simdjson::dom::parser parser;
  std::string line;
  size_t nbest = 0, samples = 0;
  while (std::getline(file, line)) {
    const element row = parser.parse(line);
    element kind;
    if (row["kind"].get(kind) != simdjson::SUCCESS) continue;
    SCOPED_TRACE(line.substr(0, 200));
    const Tokenizer& tokenizer = Model(std::string(std::string_view(row["model"])));
    const std::string_view text = row["text"];
    const std::vector<std::vector<TokenId>> want = Lists(row["ids"]);
    if (std::string_view(kind) == "nbest") {
      EXPECT_EQ(NBest(tokenizer, text, row), want);
      ++nbest;
    } else {
      EXPECT_EQ(Samples(tokenizer, text, row, want.size()), want);
      ++samples;
    }
  }
  EXPECT_GT(nbest, 500u);
  EXPECT_GT(samples, 400u);
  std::cout << nbest << " n-best lists, " << samples << " rows of samples" << std::endl;
}

}  // namespace
}  // namespace trellis::golden
