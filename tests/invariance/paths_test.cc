// Every way through the library gives the same tokens: shortcuts on and off,
// both byte tries, cache cold and warm, with offsets and without. No reference
// is needed here; tests/golden says which tokens are right.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/invariance/generated_texts.h"
#include "trellis/trellis.h"

namespace trellis {
namespace {

std::string ModelPath() {
  if (const char* path = std::getenv("TRELLIS_MODEL")) return path;
  return TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
}

Tokenizer Make(const TokenizerSpec& spec, const TokenizerOptions& options) {
  return Tokenizer::Create(spec, options).value();
}

// The scratch API with buffers that are large enough.
class Runner {
 public:
  explicit Runner(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  enum class Columns { kIdsOnly, kAll };
  EncodedText Encode(std::string_view text, Columns columns, const EncodeOptions& options = {}) {
    scratch_.Reserve(tokenizer_.ScratchBytes(text.size()));
    const size_t room = tokenizer_.MaxTokens(text.size());
    if (ids_.size() < room) {
      ids_.resize(room);
      offsets_.resize(room);
    }
    EncodingBuffer buffer{.ids = ids_};
    if (columns == Columns::kAll) buffer.offsets = offsets_;
    const auto encoding = tokenizer_.Encode(Input{text}, options, scratch_, buffer);
    EXPECT_TRUE(encoding.ok()) << encoding.status();
    if (!encoding.ok()) return {};
    EncodedText out;
    out.ids.assign(encoding->ids.begin(), encoding->ids.end());
    out.offsets.assign(encoding->offsets.begin(), encoding->offsets.end());
    return out;
  }

 private:
  const Tokenizer& tokenizer_;
  Scratch scratch_;
  std::vector<TokenId> ids_;
  std::vector<Offset> offsets_;
};

void Compare(const TokenizerSpec& spec, const std::vector<std::string>& texts) {
  const Tokenizer fast = Make(spec, {});
  const Tokenizer plain = Make(spec, {.shortcuts = false});
  const Tokenizer other = Make(spec, {.shortcuts = false, .trie = TokenizerOptions::TrieKind::kDoubleArray});
  Runner fast_runner(fast), plain_runner(plain), other_runner(other), ids_runner(fast);
  EncodeOptions shield;
  shield.match_special_tokens = false;
  for (const std::string& text : texts) {
    const EncodedText want = plain_runner.Encode(text, Runner::Columns::kAll);
    for (int again = 0; again < 2; ++again) {  // the second time from the cache
      const EncodedText got = fast_runner.Encode(text, Runner::Columns::kAll);
      ASSERT_EQ(got.ids, want.ids) << testing::PrintToString(text);
      ASSERT_EQ(got.offsets, want.offsets) << testing::PrintToString(text);
    }
    ASSERT_EQ(ids_runner.Encode(text, Runner::Columns::kIdsOnly).ids, want.ids) << testing::PrintToString(text);
    const EncodedText second = other_runner.Encode(text, Runner::Columns::kAll);
    ASSERT_EQ(second.ids, want.ids) << testing::PrintToString(text);
    ASSERT_EQ(second.offsets, want.offsets) << testing::PrintToString(text);

    const EncodedText shielded = plain_runner.Encode(text, Runner::Columns::kAll, shield);
    const EncodedText fast_shielded = fast_runner.Encode(text, Runner::Columns::kAll, shield);
    ASSERT_EQ(fast_shielded.ids, shielded.ids) << testing::PrintToString(text);
    ASSERT_EQ(fast_shielded.offsets, shielded.offsets) << testing::PrintToString(text);
    for (size_t i = 1; i + 1 < shielded.ids.size(); ++i) {
      ASSERT_TRUE(!fast.vocab().IsSpecial(shielded.ids[i]) || shielded.ids[i] == fast.vocab().unk_id())
          << testing::PrintToString(text);
    }
  }
}

TEST(Paths, AgreeOnGeneratedTexts) {
  const auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  // TRELLIS_TEXTS: how many; a long run takes 1000000.
  const char* count = std::getenv("TRELLIS_TEXTS");
  const char* seed = std::getenv("TRELLIS_SEED");
  GeneratedTexts generator(*spec, seed != nullptr ? static_cast<uint32_t>(std::atol(seed)) : 1);
  std::vector<std::string> texts(count != nullptr ? static_cast<size_t>(std::atol(count)) : 20000);
  for (std::string& text : texts) text = generator.Next();
  Compare(*spec, texts);
}

// Lines of natural text: TRELLIS_CORPORA names a folder of .txt files.
TEST(Paths, AgreeOnNaturalTexts) {
  const char* folder = std::getenv("TRELLIS_CORPORA");
  if (folder == nullptr) GTEST_SKIP() << "set TRELLIS_CORPORA to a folder of .txt files to run this";
  const auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status();
  std::vector<std::string> texts;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream in(file.path(), std::ios::binary);
    for (std::string line; std::getline(in, line);) texts.push_back(line);
  }
  ASSERT_FALSE(texts.empty());
  Compare(*spec, texts);
}

}  // namespace
}  // namespace trellis
