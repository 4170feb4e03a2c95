// Further cases in the same form from the folder that TRELLIS_CASES names:
// reported trouble, more languages, every Unicode block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/golden/golden_check.h"

namespace trellis::golden {
namespace {

// A tokenizer made anew, of all the pieces, for each set of added tokens: one of each path and of each trie.
bool ChecksAddedTokens(const Variant& variant) {
  const bool bitmap = variant.options.trie == TokenizerOptions::TrieKind::kBitmapPacked;
  return !variant.compiled && variant.options.shortcuts == bitmap;
}

// Each case with the tokens that it wants added; those that want the same share a tokenizer.
size_t CheckWithAddedTokens(const Variant& variant, const std::vector<GoldenCase>& cases) {
  std::vector<std::vector<GoldenCase>> groups;
  for (const GoldenCase& golden : cases) {
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group[0].added_tokens == golden.added_tokens; });
    (same != groups.end() ? *same : groups.emplace_back()).push_back(golden);
  }
  size_t checked = 0;
  for (const std::vector<GoldenCase>& group : groups) {
    const Tokenizer& model = Model(variant);
    if (group[0].added_tokens.empty()) {
      checked += CheckAll(variant.name, model, group);
      continue;
    }
    if (!ChecksAddedTokens(variant)) continue;
    TokenizerSpec spec = model.spec();
    AddTokens(group[0].added_tokens, spec);
    const absl::StatusOr<Tokenizer> more = Tokenizer::Create(std::move(spec), variant.options);
    EXPECT_TRUE(more.ok()) << more.status();
    if (more.ok()) checked += CheckAll(variant.name, *more, group);
  }
  return checked;
}

class Cases : public testing::TestWithParam<const char*> {};

TEST_P(Cases, MatchReference) {
  const char* folder = std::getenv("TRELLIS_CASES");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "SKIPPED: TRELLIS_CASES is not set, so the further cases of " << GetParam()
                 << " are not checked";
  }
  const std::vector<GoldenCase> cases = ReadCases(std::string(folder) + "/" + GetParam());
  std::map<std::string, size_t> left_out;
  size_t supported = 0, with_added_tokens = 0;
  for (const GoldenCase& golden : cases) {
    golden.unsupported.empty() ? ++supported : ++left_out[golden.unsupported];
    if (golden.unsupported.empty() && !golden.added_tokens.empty()) ++with_added_tokens;
  }
  EXPECT_GT(supported, 100u) << GetParam() << " has lost cases";
  for (const Variant& variant : kVariants) {
    EXPECT_EQ(CheckWithAddedTokens(variant, cases),
              ChecksAddedTokens(variant) ? supported : supported - with_added_tokens);
  }
  std::cout << GetParam() << ": " << supported << " cases checked";
  for (const auto& [what, count] : left_out)
    std::cout << ", " << count << " left out for their option " << what;
  std::cout << std::endl;
}

INSTANTIATE_TEST_SUITE_P(Further, Cases, testing::Values("golden_xlmr.jsonl", "cases_xlmr.jsonl"),
                         [](const auto& file) {
                           return std::string(file.param).substr(0, std::string(file.param).find('.'));
                         });

}  // namespace
}  // namespace trellis::golden
