// Every way through the library gives the same tokens: shortcuts on and off,
// both byte tries, cache cold and warm, with offsets and without. No reference
// is needed here; tests/golden says which tokens are right.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/invariance/path_comparison.h"
#include "trellis/trellis.h"

namespace trellis {
namespace {

TEST(Paths, AgreeOnGeneratedTexts) {
  const auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  Compare(*spec, Generated(*spec, 20000));
}

// Each blank a marker: what lies between words counts.
TEST(Paths, AgreeWhereBlanksBecomeMarkers) {
  auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  const std::vector<std::string> texts = Generated(*spec, 20000);
  spec->pre_tokenizers = {MetaspacePreTokenizer{}};
  Compare(*spec, texts);
  spec->normalizers.clear();
  Compare(*spec, texts);
}

// What add_tokens adds by default is looked for in normalized text, within words.
TEST(Paths, AgreeOnTokensAddedWithNormalization) {
  auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  std::vector<AddedToken> tokens;
  for (const char* content :
       {"ing", "er.", "Th", "a,", "!!", "\u00e9", "\u0438\u0445", "\u4e00", "\u0301", "1", "\uff12\uff13", "\ufb01n", "e\u0301t",
        "\u3042", "\uac00", "\u00b5", "\u0915\u093f", "\U0001f600", "<s", "k>", "\u2026", "~"}) {
    AddedToken token;
    token.content = content;
    token.single_word = tokens.size() % 3 == 0;
    token.normalized = true;
    tokens.push_back(token);
  }
  AddTokens(tokens, *spec);
  Compare(*spec, Generated(*spec, 4000));
  Compare(*spec, BlankTexts());
  spec->normalizers.clear();
  Compare(*spec, Generated(*spec, 4000));
}

// Blanks of every kind in every place, as the pre-tokenizers see them.
TEST(Paths, AgreeOnBlanks) {
  auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  const std::vector<std::string> texts = BlankTexts();
  Compare(*spec, texts);
  spec->pre_tokenizers = {MetaspacePreTokenizer{}};
  Compare(*spec, texts);
  spec->pre_tokenizers = {MetaspacePreTokenizer{.replacement = "a"}};
  Compare(*spec, texts);
  spec->normalizers.clear();
  Compare(*spec, texts);
}

TEST(Paths, AgreeOnNaturalTexts) {
  const char* folder = std::getenv("TRELLIS_CORPORA");
  if (folder == nullptr) GTEST_SKIP() << "set TRELLIS_CORPORA to a folder of .txt files to run this";
  auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status();
  const std::vector<std::string> texts = NaturalTexts(folder);
  ASSERT_FALSE(texts.empty());
  Compare(*spec, texts);
  spec->pre_tokenizers = {MetaspacePreTokenizer{}};
  Compare(*spec, texts);
}

}  // namespace
}  // namespace trellis
