// Compares the ways through the library on lists of texts, for tests that say
// which specs and texts.
#ifndef TRELLIS_TESTS_INVARIANCE_PATH_COMPARISON_H_
#define TRELLIS_TESTS_INVARIANCE_PATH_COMPARISON_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/invariance/generated_texts.h"
#include "trellis/trellis.h"

namespace trellis {

inline std::string ModelPath() {
  if (const char* path = std::getenv("TRELLIS_MODEL")) return path;
  return TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
}

inline Tokenizer Make(const TokenizerSpec& spec, const TokenizerOptions& options) {
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

// The path's name is the first fact.
inline bool TakesShortcuts(const Tokenizer& tokenizer) { return tokenizer.Facts()[0].value.starts_with("words"); }

// Texts may be megabytes: only what is around the first difference.
inline std::string Difference(std::string_view text, const EncodedText& got, const EncodedText& want) {
  size_t i = 0;
  const size_t both = std::min(got.ids.size(), want.ids.size());
  while (i < both && got.ids[i] == want.ids[i] && got.offsets[i] == want.offsets[i]) ++i;
  const size_t at = i < want.offsets.size() ? want.offsets[i].begin : text.size();
  const size_t from = at < 60 ? 0 : at - 60;
  std::string out = "token " + std::to_string(i) + " of " + std::to_string(want.ids.size()) + ", byte " +
                    std::to_string(at) + " of " + std::to_string(text.size()) + ", near " +
                    testing::PrintToString(text.substr(from, 120));
  const auto row = [&](const char* whose, const EncodedText& tokens, size_t k) {
    if (k >= tokens.ids.size()) return;
    const Offset& offset = tokens.offsets[k];
    out += std::string("\n  ") + whose + ' ' + std::to_string(tokens.ids[k]) + " at " + std::to_string(offset.begin) +
           '-' + std::to_string(offset.end);
  };
  for (size_t k = i; k < i + 6; ++k) {
    row("got", got, k);
    row("want", want, k);
  }
  return out;
}

inline void Compare(const TokenizerSpec& spec, const std::vector<std::string>& texts) {
  const Tokenizer fast = Make(spec, {});
  ASSERT_TRUE(TakesShortcuts(fast)) << fast.Facts()[0].value;
  const Tokenizer plain = Make(spec, {.shortcuts = false});
  const Tokenizer other = Make(spec, {.shortcuts = false, .trie = TokenizerOptions::TrieKind::kDoubleArray});
  Runner fast_runner(fast), plain_runner(plain), other_runner(other), ids_runner(fast);
  EncodeOptions shield;
  shield.match_special_tokens = false;
  EncodeOptions passing_over;
  passing_over.encode_special_tokens = true;
  for (const std::string& text : texts) {
    const EncodedText want = plain_runner.Encode(text, Runner::Columns::kAll);
    for (int again = 0; again < 2; ++again) {  // the second time from the cache
      const EncodedText got = fast_runner.Encode(text, Runner::Columns::kAll);
      ASSERT_TRUE(got.ids == want.ids) << Difference(text, got, want);
      ASSERT_TRUE(got.offsets == want.offsets) << Difference(text, got, want);
    }
    ASSERT_TRUE(ids_runner.Encode(text, Runner::Columns::kIdsOnly).ids == want.ids)
        << testing::PrintToString(text.substr(0, 300));
    const EncodedText second = other_runner.Encode(text, Runner::Columns::kAll);
    ASSERT_TRUE(second.ids == want.ids) << Difference(text, second, want);
    ASSERT_TRUE(second.offsets == want.offsets) << Difference(text, second, want);

    const EncodedText passed_over = plain_runner.Encode(text, Runner::Columns::kAll, passing_over);
    const EncodedText fast_passed_over = fast_runner.Encode(text, Runner::Columns::kAll, passing_over);
    ASSERT_TRUE(fast_passed_over.ids == passed_over.ids) << Difference(text, fast_passed_over, passed_over);
    ASSERT_TRUE(fast_passed_over.offsets == passed_over.offsets) << Difference(text, fast_passed_over, passed_over);

    const EncodedText shielded = plain_runner.Encode(text, Runner::Columns::kAll, shield);
    const EncodedText fast_shielded = fast_runner.Encode(text, Runner::Columns::kAll, shield);
    ASSERT_TRUE(fast_shielded.ids == shielded.ids) << Difference(text, fast_shielded, shielded);
    ASSERT_TRUE(fast_shielded.offsets == shielded.offsets) << Difference(text, fast_shielded, shielded);
    for (size_t i = 1; i + 1 < shielded.ids.size(); ++i) {
      ASSERT_TRUE(!fast.vocab().IsSpecial(shielded.ids[i]) || shielded.ids[i] == fast.vocab().unk_id())
          << testing::PrintToString(text.substr(0, 300));
    }
  }
}

// TRELLIS_TEXTS: how many; a long run takes 1000000.
inline std::vector<std::string> Generated(const TokenizerSpec& spec, size_t usual) {
  const char* count = std::getenv("TRELLIS_TEXTS");
  const char* seed = std::getenv("TRELLIS_SEED");
  GeneratedTexts generator(spec, seed != nullptr ? static_cast<uint32_t>(std::atol(seed)) : 1);
  std::vector<std::string> texts(count != nullptr ? static_cast<size_t>(std::atol(count)) : usual);
  for (std::string& text : texts) text = generator.Next();
  return texts;
}

// Blanks of every kind in every place, beside what is deleted, joins or is malformed.
inline std::vector<std::string> BlankTexts() {
  const std::vector<std::string> parts = {"a",      "the.",   "\u0301", " ",      "\r\n", "\r",    "\n",
                                          "\u00a0", "\u3000", "\x01",   "\u2581", "\xff", "\u00a8"};
  std::vector<std::string> texts = {""};
  for (size_t begin = 0, length = 1; length <= 4; ++length) {
    const size_t end = texts.size();
    for (; begin < end; ++begin) {
      for (const std::string& part : parts) texts.push_back(texts[begin] + part);
    }
  }
  return texts;
}

// Lines of natural text: TRELLIS_CORPORA names a folder of .txt files.
inline std::vector<std::string> NaturalTexts(const char* folder) {
  std::vector<std::string> texts;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream in(file.path(), std::ios::binary);
    for (std::string line; std::getline(in, line);) texts.push_back(line);
  }
  return texts;
}

}  // namespace trellis

#endif  // TRELLIS_TESTS_INVARIANCE_PATH_COMPARISON_H_
