// ScratchBytes and MaxTokens are bounds: exactly so much scratch and so many
// tokens of room are enough for every text of that length, the worst ones too.
// Memory behind both is watched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/invariance/generated_texts.h"
#include "tests/tokenizer/small_specs.h"
#include "trellis/trellis.h"

namespace trellis {
namespace {

std::string ModelPath() {
  if (const char* path = std::getenv("TRELLIS_MODEL")) return path;
  return TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
}

class BoundedEncoder {
 public:
  explicit BoundedEncoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void Check(std::string_view text, const EncodeOptions& options, bool as_pair) {
    const size_t bytes = tokenizer_.ScratchBytes(text.size());
    const size_t tokens = tokenizer_.MaxTokens(text.size());
    // A Scratch of that size at an aligned place, and canaries behind all.
    if (memory_.size() < bytes + 2 * kAlign + kCanaries) memory_.resize(2 * (bytes + 2 * kAlign + kCanaries));
    std::byte* begin = memory_.data();
    while (reinterpret_cast<uintptr_t>(begin) % kAlign != 0) ++begin;
    std::fill_n(begin + bytes, kCanaries, std::byte{0xC5});
    if (ids_.size() < tokens + kCanaries) {
      ids_.resize(2 * tokens + kCanaries);
      offsets_.resize(ids_.size());
    }
    std::fill_n(ids_.begin() + static_cast<std::ptrdiff_t>(tokens), kCanaries, -77);
    Scratch scratch({begin, bytes});
    // A pair has both texts' lengths added.
    size_t half = text.size() / 2;
    const Input input = as_pair ? Input{text.substr(0, half), text.substr(half)} : Input{text};
    const auto encoding = tokenizer_.Encode(input, options, scratch,
                                            {.ids = std::span(ids_).first(tokens), .offsets = std::span(offsets_).first(tokens)});
    ASSERT_TRUE(encoding.ok()) << encoding.status() << ", high water " << scratch.high_water() << " of " << bytes << ", room for "
                               << tokens << " tokens: " << testing::PrintToString(text.substr(0, 200));
    ASSERT_LE(scratch.high_water(), bytes);
    for (size_t i = 0; i < kCanaries; ++i) {
      ASSERT_EQ(begin[bytes + i], std::byte{0xC5});
      ASSERT_EQ(ids_[tokens + i], -77);
    }
    for (const Offset& offset : encoding->offsets) {
      ASSERT_LE(offset.begin, offset.end);
      ASSERT_LE(offset.end, text.size());
    }
    most_used_ = std::max(most_used_, static_cast<double>(encoding->ids.size()) / static_cast<double>(tokens));
  }

  void CheckAll(std::string_view text) {
    Check(text, {}, false);
    Check(text, {}, true);
    Check(text, {.match_special_tokens = false}, false);
    Check(text, {.truncate = Truncate::kLongestFirst, .max_length = 1000000}, false);
    Check(text, {.truncate = Truncate::kLongestFirst, .max_length = 8}, true);
  }

  double most_used() const { return most_used_; }

 private:
  static constexpr size_t kAlign = ScratchCarver::kAlign;
  static constexpr size_t kCanaries = 256;
  const Tokenizer& tokenizer_;
  std::vector<std::byte> memory_;
  std::vector<TokenId> ids_;
  std::vector<Offset> offsets_;
  double most_used_ = 0.0;
};

std::string Repeated(std::string_view part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += part;
  return text;
}

// What grows most: rules, malformed bytes, one-token bytes, blanks, specials.
std::vector<std::string> WorstTexts() {
  std::vector<std::string> texts = {""};
  const std::vector<std::string> parts = {
      "\ufdfa", "\ufdfa ", "\u337f", "\u2026", "\xff", "\xff ", "\xe2\x96", "\xf0\x9f\x98", "\xc2", "\x01", "a", " ", "a ", "a\n", ".",
      ". ", "<s>", "</s><s>", " <mask>", "<mask>", "<mask> ", "\u2581", "\u2581 ", "\u2581\xff", "e\u0301", "a\u0301\u0302", "\u0301",
      "\u00a8", "\u00bd", "x", "\U0001F468\u200D", "\u0915\u093c", "\u1100\u1161\u11a8", "\ufffd", "\ufffd ", "\u3000", "\xff\u0301", "-", "ab"};
  for (const std::string& part : parts) {
    for (const size_t count : {1, 2, 3, 15, 16, 17, 40, 333, 1025, 2500}) {
      texts.push_back(Repeated(part, count));
      texts.push_back("a " + Repeated(part, count));
    }
  }
  for (const std::string& a : parts) {
    for (const std::string& b : parts) texts.push_back(Repeated(a + b, 30));
  }
  return texts;
}

std::string RandomBytes(std::mt19937& random, size_t most) {
  std::string text(random() % most, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

void CheckSpec(const TokenizerSpec& spec, double at_least_used) {
  const std::vector<std::string> worst = WorstTexts();
  for (const bool shortcuts : {true, false}) {
    const auto tokenizer = Tokenizer::Create(spec, {.shortcuts = shortcuts});
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    BoundedEncoder encoder(*tokenizer);
    for (const std::string& text : worst) {
      encoder.CheckAll(text);
      if (testing::Test::HasFatalFailure()) return;
    }
    std::mt19937 random(5);
    for (int n = 0; n < 1500; ++n) {
      encoder.CheckAll(RandomBytes(random, n % 100 == 0 ? 3000 : 40));
      if (testing::Test::HasFatalFailure()) return;
    }
    // The bound is worth something: some text comes near it.
    EXPECT_GE(encoder.most_used(), at_least_used);
  }
}

TEST(Bounds, HoldForTheSmallSpec) { CheckSpec(SmallSpec(), 0.6); }

TEST(Bounds, HoldForEveryPreTokenizer) {
  for (const PrependScheme scheme : {PrependScheme::kAlways, PrependScheme::kFirst, PrependScheme::kNever}) {
    for (const bool split : {true, false}) {
      TokenizerSpec spec = SmallSpec();
      spec.pre_tokenizers = {MetaspacePreTokenizer{.prepend_scheme = scheme, .split = split}};
      CheckSpec(spec, 0.3);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  TokenizerSpec spec = SmallSpec();
  spec.pre_tokenizers = {MetaspacePreTokenizer{}, MetaspacePreTokenizer{.replacement = "a"}};
  CheckSpec(spec, 0.3);
  spec.pre_tokenizers = {};
  CheckSpec(spec, 0.3);
}

TEST(Bounds, HoldForReplaceNormalizers) {
  TokenizerSpec spec = SmallSpec();
  spec.normalizers = {ReplaceNormalizer{"a", false, "abc \u6771"}, ReplaceNormalizer{" {2,}", true, "\u2581"}};
  CheckSpec(spec, 0.1);
  spec.normalizers = {ReplaceNormalizer{" ", false, ". . ."}, ReplaceNormalizer{".", false, "a b"}};
  CheckSpec(spec, 0.1);
}

// An added token of one byte, and a template that repeats its text.
TEST(Bounds, HoldForShortAddedTokensAndRepeatedTexts) {
  TokenizerSpec spec = SmallSpec();
  AddedToken dash;
  dash.content = "-";
  dash.id = 21;
  spec.added_tokens.push_back(dash);
  CheckSpec(spec, 0.3);
  spec.post_processor.single.push_back(TemplateSequence{Sequence::kA, 1});
  spec.post_processor.pair.push_back(TemplateSequence{Sequence::kB, 1});
  CheckSpec(spec, 0.2);
}

// Flagged `normalized`, which counts where nothing else is normalized.
TEST(Bounds, HoldForTokensThatAreNormalized) {
  TokenizerSpec spec = SmallSpec();
  for (AddedToken& token : spec.added_tokens) token.normalized = true;
  CheckSpec(spec, 0.3);
}

TEST(Bounds, HoldForTheModel) {
  const auto spec = LoadSpec(ModelPath());
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  const std::vector<std::string> worst = WorstTexts();
  for (const bool shortcuts : {true, false}) {
    const Tokenizer tokenizer = Tokenizer::Create(*spec, {.shortcuts = shortcuts}).value();
    BoundedEncoder encoder(tokenizer);
    for (const std::string& text : worst) {
      encoder.CheckAll(text);
      if (testing::Test::HasFatalFailure()) return;
    }
    GeneratedTexts generator(*spec, 31);
    for (int n = 0; n < 2000; ++n) {
      encoder.CheckAll(generator.Next());
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Bounds, HoldForTheSentencePieceModel) {
  const auto spec = LoadSpec(ModelPath() + "/sentencepiece.bpe.model");
  ASSERT_TRUE(spec.ok()) << spec.status() << "\nrun tools/fetch_model --tokenizer-only";
  TokenizerSpec without_rules = *spec;  // U+2581 in a text stays
  std::get<SentencePieceNormalizer>(without_rules.normalizers[0]).charsmap.clear();
  const std::vector<std::string> worst = WorstTexts();
  for (const TokenizerSpec& one : {*spec, without_rules}) {
    for (const bool shortcuts : {true, false}) {
      const Tokenizer tokenizer = Tokenizer::Create(one, {.shortcuts = shortcuts}).value();
      BoundedEncoder encoder(tokenizer);
      for (const std::string& text : worst) {
        encoder.CheckAll(text);
        if (testing::Test::HasFatalFailure()) return;
      }
      GeneratedTexts generator(one, 32);
      for (int n = 0; n < 1000; ++n) {
        encoder.CheckAll(generator.Next());
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Monotonic: a longer text is never promised less.
TEST(Bounds, GrowWithTheText) {
  const Tokenizer tokenizer = Tokenizer::Create(SmallSpec()).value();
  for (size_t bytes = 0; bytes < 5000; ++bytes) {
    ASSERT_LE(tokenizer.ScratchBytes(bytes), tokenizer.ScratchBytes(bytes + 1));
    ASSERT_LE(tokenizer.MaxTokens(bytes), tokenizer.MaxTokens(bytes + 1));
  }
}

}  // namespace
}  // namespace trellis
