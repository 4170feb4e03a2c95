// Files and folders on disk.
#include "trellis/load.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace trellis {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJson =
    R"( {"version": "1.0", "model": {"type": "Unigram", "vocab": [["a", -1]]}})";
// ModelProto {pieces {piece: "<unk>" score: 0 type: UNKNOWN} pieces {piece: "a" score: -1}}: first
// byte a line feed, which is a blank to JSON.
constexpr std::string_view kModel(
    "\x0A\x0E\x0A\x05<unk>\x15\x00\x00\x00\x00\x18\x02"
    "\x0A\x08\x0A\x01"
    "a\x15\x00\x00\x80\xBF",
    26);

class LoadTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* const info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("trellis_load_test_" + std::string(info->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  std::string Error(const std::string& path) const {
    const absl::StatusOr<TokenizerSpec> spec = LoadSpec(path);
    return spec.ok() ? "loaded" : std::string(spec.status().message());
  }

  fs::path folder_;
};

TEST_F(LoadTest, FileByContentNotByName) {
  const absl::StatusOr<TokenizerSpec> json = LoadSpec(Write("vocabulary.model", kJson));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->dialect, Dialect::kHuggingFace);
  EXPECT_EQ(json->model.pieces.size(), 1u);
  const absl::StatusOr<TokenizerSpec> model = LoadSpec(Write("vocabulary.json", kModel));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->dialect, Dialect::kSentencePiece);
  EXPECT_EQ(model->model.pieces.size(), 2u);
}

TEST_F(LoadTest, FolderTakesTokenizerJsonFirst) {
  Write("spiece.model", kModel);
  absl::StatusOr<TokenizerSpec> spec = LoadSpec(folder_.string());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->dialect, Dialect::kSentencePiece);
  Write("tokenizer.json", kJson);
  spec = LoadSpec(folder_.string() + "/");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->dialect, Dialect::kHuggingFace);
}

TEST_F(LoadTest, FolderWithoutOrWithSeveralModels) {
  const std::string folder = folder_.string();
  EXPECT_EQ(Error(folder), folder + ": no tokenizer.json and no .model inside, expected one of them, or a .trellis");
  const std::string b = Write("b.model", kModel);
  const std::string a = Write("a.model", kModel);
  EXPECT_EQ(Error(folder), folder + ": " + a + " and " + b +
                               ", expected one .model or .trellis, or a tokenizer.json; name the file instead");
}

TEST_F(LoadTest, MissingFile) {
  const std::string path = (folder_ / "nothing.json").string();
  EXPECT_TRUE(absl::IsNotFound(LoadSpec(path).status())) << LoadSpec(path).status();
  EXPECT_EQ(Error(path), path + ": cannot be opened (No such file or directory), expected a file");
}

TEST_F(LoadTest, NoPlainFile) {
  fs::create_directories(folder_ / "tokenizer.json");
  const std::string path = (folder_ / "tokenizer.json").string();
  EXPECT_EQ(Error(folder_.string()), path + ": no plain file, expected one");
}

TEST_F(LoadTest, WrongContent) {
  const std::string empty = Write("empty", "");
  EXPECT_EQ(Error(empty), empty + ": empty, expected a tokenizer.json or a .model");
  const std::string text = Write("notes.txt", "nothing of the kind");
  EXPECT_EQ(Error(text).rfind(
                text + ": no tokenizer.json (those start with \"{\"), and as a SentencePiece model: ", 0),
            0u)
      << Error(text);
  const std::string mark = Write("mark.json", "\xEF\xBB\xBF{\"version\": \"1.0\"}");
  EXPECT_EQ(Error(mark), mark + ": tokenizer.json: starts with a byte order mark, expected \"{\"");
  const std::string cut = Write("cut.json", kJson.substr(0, 40));
  EXPECT_EQ(Error(cut).rfind(cut + ": tokenizer.json: broken JSON", 0), 0u) << Error(cut);
  const std::string wrong = Write("wrong.json", R"({"model": {"type": "BPE"}})");
  EXPECT_EQ(Error(wrong), wrong + ": model.type: \"BPE\" is not supported yet, expected \"Unigram\"");
}

TEST_F(LoadTest, TokenizerFromFile) {
  const absl::StatusOr<Tokenizer> tokenizer = LoadTokenizer(Write("tokenizer.json", kJson));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ(tokenizer->vocab().Find("a"), 0);
  const std::string missing = (folder_ / "nothing.json").string();
  EXPECT_TRUE(absl::IsNotFound(LoadTokenizer(missing).status()));
}

}  // namespace
}  // namespace trellis
