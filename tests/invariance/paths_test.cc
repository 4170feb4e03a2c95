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
