// Small tokenizer.json files of every kind, with the reference's answers: our own
// (make_pipelines_golden.py), and the folder pipelines/ of the one that
// TRELLIS_CASES names. The files' truncation and padding are heeded here, as the
// reference heeds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "tests/golden/golden_check.h"

namespace trellis::golden {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Folders(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Every case as the file has it asked, on every path. Returns how many.
size_t Check(const TokenizerSpec& spec, std::vector<GoldenCase> cases) {
  for (GoldenCase& golden : cases) {
    golden.options = WithFileTruncation(spec, golden.options);
    golden.padding = spec.padding;
  }
  for (const Variant& variant : kVariants) {
    const absl::StatusOr<Tokenizer> tokenizer = Make(spec, variant);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    if (tokenizer.ok()) {
      EXPECT_EQ(CheckAll(variant.name, *tokenizer, cases), cases.size());
    }
  }
  return cases.size();
}

TEST(Pipelines, OwnMatchReference) {
  const std::vector<GoldenPipeline> pipelines = ReadPipelines(TRELLIS_SOURCE_DIR "/tests/golden/pipelines.jsonl");
  size_t cases = 0;
  for (const GoldenPipeline& pipeline : pipelines) {
    SCOPED_TRACE(pipeline.name);
    const absl::StatusOr<TokenizerSpec> spec = ParseTokenizerJson(pipeline.tokenizer_json);
    ASSERT_TRUE(spec.ok()) << spec.status();
    cases += Check(*spec, pipeline.cases);
  }
  EXPECT_GT(pipelines.size(), 50u);
  EXPECT_GT(cases, 2000u);
}

TEST(Pipelines, FurtherMatchReference) {
  const char* root = std::getenv("TRELLIS_CASES");
  if (root == nullptr || *root == '\0') GTEST_SKIP() << "SKIPPED: TRELLIS_CASES is not set, so no pipeline is checked";
  size_t files = 0, cases = 0;
  std::string left_out;
  for (const fs::path& folder : Folders(fs::path(root) / "pipelines")) {
    SCOPED_TRACE(folder.filename());
    const absl::StatusOr<TokenizerSpec> spec = LoadSpec(folder.string());
    if (absl::IsUnimplemented(spec.status())) {
      left_out += "  " + std::string(spec.status().message()) + "\n";
      continue;
    }
    ASSERT_TRUE(spec.ok()) << spec.status();
    ++files;
    cases += Check(*spec, ReadCases(folder / "cases.jsonl"));
  }
  EXPECT_GE(files, 63u) << "pipelines that were supported are not any more:\n" << left_out;
  std::cout << "pipelines: " << files << " files, " << cases << " cases checked; not supported yet:\n" << left_out;
}

}  // namespace
}  // namespace trellis::golden
