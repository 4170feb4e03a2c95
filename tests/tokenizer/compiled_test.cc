// Compiled files: the same tokenizer as the spec's, from a file, by several
// processes. (The goldens go through compiled files too: tests/golden.)
#include "trellis/internal/compiled.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tokenizer/compiled_specs.h"
#include "trellis/load.h"

namespace trellis {
namespace {

namespace fs = std::filesystem;

class CompiledTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("trellis_compiled_test_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Compile(const TokenizerSpec& spec, const std::string& name) const {
    const std::string path = (folder_ / name).string();
    const absl::Status status = CompileTokenizer(spec, path);
    EXPECT_TRUE(status.ok()) << status;
    return path;
  }
  static std::string Fact(const Tokenizer& tokenizer, std::string_view name) {
    for (const TableFact& fact : tokenizer.Facts()) {
      if (fact.name == name) return fact.value;
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(CompiledTest, IsTheSameTokenizer) {
  for (const TokenizerSpec& spec : CompiledSpecs()) {
    const Tokenizer built = Tokenizer::Create(spec).value();
    const absl::StatusOr<Tokenizer> mapped = LoadTokenizer(Compile(spec, "model.trellis"));
    ASSERT_TRUE(mapped.ok()) << mapped.status();
    UseTokenizer(*mapped, &built);
    EXPECT_EQ(Fact(*mapped, "path"), Fact(built, "path"));
    EXPECT_NE(Fact(*mapped, "compiled file"), "");
    EXPECT_EQ(Fact(built, "compiled file"), "");
    EXPECT_EQ(mapped->ScratchBytes(1000), built.ScratchBytes(1000));
    EXPECT_EQ(mapped->MaxTokens(1000), built.MaxTokens(1000));
    ASSERT_EQ(mapped->vocab().size(), built.vocab().size());
    for (TokenId id = -1; id <= built.vocab().size(); ++id) {
      EXPECT_EQ(mapped->vocab().Text(id), built.vocab().Text(id));
      EXPECT_EQ(mapped->vocab().Score(id), built.vocab().Score(id));
      EXPECT_EQ(mapped->vocab().IsSpecial(id), built.vocab().IsSpecial(id));
      EXPECT_EQ(mapped->vocab().Find(built.vocab().Text(id)), built.vocab().Find(built.vocab().Text(id)));
    }
    EXPECT_EQ(mapped->spec(), spec);
    EXPECT_TRUE(mapped->spec_without_pieces().model.pieces.empty());
  }
}

TEST_F(CompiledTest, OptionsGiveTheSame) {
  for (const TokenizerSpec& spec : CompiledSpecs()) {
    const std::string path = Compile(spec, "model.trellis");
    const Tokenizer built = Tokenizer::Create(spec).value();
    for (const TokenizerOptions& options :
         {TokenizerOptions{.shortcuts = false}, TokenizerOptions{.huge_pages = true},
          TokenizerOptions{.trie = TokenizerOptions::TrieKind::kDoubleArray}}) {
      const absl::StatusOr<Tokenizer> mapped = MapTokenizer(path, options);
      ASSERT_TRUE(mapped.ok()) << mapped.status();
      UseTokenizer(*mapped, &built);
    }
  }
}

// An added token may name a piece that text matches. A compiled file's spec has no pieces, and the shield was once looked up
// there: then nothing was behind it.
TEST_F(CompiledTest, KeepsTheShieldOfMatchedPieces) {
  for (const PieceType type : {PieceType::kNormal, PieceType::kUserDefined}) {
    TokenizerSpec spec = SummedSpec();
    const auto ab = std::find_if(spec.model.pieces.begin(), spec.model.pieces.end(),
                                 [](const Piece& piece) { return piece.text == "ab"; });
    ASSERT_NE(ab, spec.model.pieces.end());
    ab->type = type;
    const auto id = static_cast<TokenId>(ab - spec.model.pieces.begin());
    spec.added_tokens.push_back({.content = "ab", .id = id, .special = true});
    const absl::StatusOr<Tokenizer> mapped = MapTokenizer(Compile(spec, "model.trellis"));
    ASSERT_TRUE(mapped.ok()) << mapped.status();
    const Tokenizer built = Tokenizer::Create(spec).value();
    UseTokenizer(*mapped, &built);
    const EncodeOptions shielded{.add_special_tokens = false, .match_special_tokens = false};
    const auto ids = mapped->Encode(Input{"abab"}, shielded)->ids;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 0);
    const auto matched = mapped->Encode(Input{"abab"}, {.add_special_tokens = false})->ids;
    EXPECT_EQ(std::count(matched.begin(), matched.end(), id), 2);
  }
}

// Every field of every stage, each with a value that is not the default.
TEST_F(CompiledTest, KeepsTheWholeSpec) {
  TokenizerSpec spec = SmallSpec();
  spec.added_tokens.push_back({"new", 30, true, true, true, true, false});
  spec.normalizers = {SpecWithRules().normalizers[0],
                      ReplaceNormalizer{"a+", true, "b"},
                      UnicodeNormalizer{UnicodeForm::kNfkd},
                      NmtNormalizer{},
                      LowercaseNormalizer{},
                      StripNormalizer{false, true},
                      StripAccentsNormalizer{},
                      PrependNormalizer{"_"},
                      BertNormalizer{false, false, true, false},
                      BertNormalizer{}};
  spec.pre_tokenizers = {WhitespaceSplitPreTokenizer{},
                         MetaspacePreTokenizer{"_", PrependScheme::kFirst, false},
                         WhitespacePreTokenizer{},
                         PunctuationPreTokenizer{SplitBehavior::kMergedWithNext},
                         DigitsPreTokenizer{true},
                         UnicodeScriptsPreTokenizer{},
                         SplitPreTokenizer{"x", false, SplitBehavior::kContiguous, true},
                         BertPreTokenizer{},
                         CharDelimiterPreTokenizer{"|"},
                         FixedLengthPreTokenizer{7}};
  spec.model.byte_fallback = true;
  spec.post_processor.trim_offsets = TrimOffsets::kKeepPrefixSpace;
  spec.decoders = {MetaspaceDecoder{"_", PrependScheme::kNever},
                   ReplaceDecoder{"a", false, "b"},
                   ByteFallbackDecoder{},
                   FuseDecoder{},
                   StripDecoder{"x", 1, 2},
                   WordPieceDecoder{"@@", false}};
  spec.truncation = Truncation{Truncate::kOnlyFirst, Side::kLeft, 9, 2};
  spec.padding = Padding{12, 8, Side::kLeft, 1, 3, "<pad>"};
  const absl::StatusOr<Tokenizer> mapped = MapTokenizer(Compile(spec, "all.trellis"));
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_EQ(mapped->spec(), spec);
  const Tokenizer built = Tokenizer::Create(spec).value();
  UseTokenizer(*mapped, &built);
  const absl::StatusOr<TokenizerSpec> loaded = LoadSpec((folder_ / "all.trellis").string());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, spec);
}

TEST_F(CompiledTest, AFolderMayHoldOne) {
  Compile(SmallSpec(), "model.trellis");
  const absl::StatusOr<Tokenizer> tokenizer = LoadTokenizer(folder_.string());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  std::ofstream(folder_ / "other.model") << "x";
  EXPECT_FALSE(LoadTokenizer(folder_.string()).ok());
}

TEST_F(CompiledTest, WhatIsMappedOutlivesItsName) {
  const std::string path = Compile(SmallSpec(), "model.trellis");
  const Tokenizer built = Tokenizer::Create(SmallSpec()).value();
  const absl::StatusOr<Tokenizer> mapped = MapTokenizer(path);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  Compile(SummedSpec(), "model.trellis");
  UseTokenizer(*mapped, &built);
  fs::remove(path);
  UseTokenizer(*mapped, &built);
}

TEST_F(CompiledTest, WritingFailsWithAReason) {
  const absl::Status status = CompileTokenizer(SmallSpec(), (folder_ / "none" / "model.trellis").string());
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_NE(status.message().find("cannot be opened"), std::string::npos) << status;
  TokenizerSpec broken = SmallSpec();
  broken.model.pieces.clear();
  EXPECT_FALSE(CompileTokenizer(broken, (folder_ / "broken").string()).ok());
  EXPECT_FALSE(fs::exists(folder_ / "broken"));
  TokenizerSpec long_list = SmallSpec();
  long_list.normalizers.assign(5000, NmtNormalizer{});
  EXPECT_EQ(CompileTokenizer(long_list, (folder_ / "long").string()).code(),
            absl::StatusCode::kUnimplemented);
}

// Kilobytes that the kernel counts under `field` for this process's mappings of
// `path`; -1: it has none.
long SmapsKilobytes(const std::string& path, const char* field) {
  std::ifstream smaps("/proc/self/smaps");
  long total = -1;
  bool mine = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long long from = 0, to = 0;
    long kilobytes = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) {
      mine = line.ends_with(path);
      if (mine) total = std::max(total, 0L);
    } else if (mine && line.starts_with(field) &&
               std::sscanf(line.c_str() + std::string_view(field).size(), ": %ld kB", &kilobytes) == 1) {
      total += kilobytes;
    }
  }
  return total;
}

TEST_F(CompiledTest, ProcessesShareItsPages) {
  if (!fs::exists("/proc/self/smaps")) GTEST_SKIP() << "SKIPPED: no /proc/self/smaps here";
  const std::string path = Compile(SmallSpec(), "model.trellis");
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    const absl::StatusOr<Tokenizer> theirs = MapTokenizer(path);
    const bool works = theirs.ok() && theirs->Encode("ab abc").ok();
    byte = works ? 1 : 0;
    const bool told = write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
    _exit(works && told ? 0 : 1);
  }
  const absl::StatusOr<Tokenizer> ours = MapTokenizer(path);
  ASSERT_TRUE(ours.ok()) << ours.status();
  ASSERT_TRUE(ours->Encode("ab abc").ok());
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 1);
  const auto kilobytes = static_cast<long>(fs::file_size(path) / 1024);
  EXPECT_GE(SmapsKilobytes(path, "Shared_Clean") + SmapsKilobytes(path, "Shared_Dirty"), kilobytes);
  EXPECT_EQ(SmapsKilobytes(path, "Private_Dirty"), 0);
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CompiledTest, HugePagesAreACopy) {
  if (!fs::exists("/proc/self/smaps")) GTEST_SKIP() << "SKIPPED: no /proc/self/smaps here";
  const std::string path = Compile(SmallSpec(), "model.trellis");
  const absl::StatusOr<Tokenizer> copied = MapTokenizer(path, {.huge_pages = true});
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(SmapsKilobytes(path, "Size"), -1);
}

}  // namespace
}  // namespace trellis
