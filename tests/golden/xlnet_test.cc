// XLNet as it is published: its own tokenizer.json, which lies beside the folder
// that TRELLIS_CASES names (models/xlnet_base_cased.json), against xlnet.jsonl
// (make_xlnet_golden.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/golden/golden_check.h"

namespace trellis::golden {
namespace {

TEST(XlNet, MatchesReference) {
  const char* cases = std::getenv("TRELLIS_CASES");
  if (cases == nullptr || *cases == '\0') GTEST_SKIP() << "SKIPPED: TRELLIS_CASES is not set, so XLNet is not checked";
  const std::filesystem::path model = std::filesystem::path(cases) / ".." / "models" / "xlnet_base_cased.json";
  const std::vector<GoldenCase> goldens = ReadCases(TRELLIS_SOURCE_DIR "/tests/golden/xlnet.jsonl");
  ASSERT_GT(goldens.size(), 100u);
  for (const Variant& variant : kVariants) {
    const absl::StatusOr<Tokenizer> tokenizer = LoadTokenizer(model.string(), {.tokenizer = variant.options});
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    EXPECT_EQ(CheckAll(variant.name, *tokenizer, goldens), goldens.size());
  }
}

}  // namespace
}  // namespace trellis::golden
