// Every assigned code point through the stages whose answer hangs on Unicode tables, by
// checksums of the reference's (make_hf_code_points_golden.py says of what).
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trellis/internal/stage/character_steps.h"
#include "trellis/internal/stage/split.h"
#include "trellis/internal/stage/unicode_form.h"

namespace trellis::internal {
namespace {

constexpr uint32_t kBlock = 4096;

uint32_t Crc32(std::string_view text) {
  static const auto table = [] {
    std::array<uint32_t, 256> entries{};
    for (uint32_t byte = 0; byte < entries.size(); ++byte) {
      entries[byte] = byte;
      for (int bit = 0; bit < 8; ++bit) entries[byte] = entries[byte] >> 1 ^ (0xEDB88320 & (0 - (entries[byte] & 1)));
    }
    return entries;
  }();
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : text) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

template <typename Step>
std::string Normalize(const Step& step, const std::string& text) {
  std::string bytes(step.MaxBytes(text.size()), '\0');
  std::vector<uint32_t> source(bytes.size());
  const AlignedBuffer out{bytes.data(), source.data()};
  if constexpr (std::is_same_v<Step, UnicodeFormStep>) {
    std::vector<uint32_t> work(step.WorkSize(text.size()));
    bytes.resize(step.Run({text}, work, out));
  } else {
    bytes.resize(step.Run({text}, out));
  }
  return bytes;
}

template <typename Step>
std::string Cut(const Step& step, const std::string& text) {
  const std::vector<PreToken> whole = {{0, static_cast<uint32_t>(text.size()), 0}};
  std::vector<PreToken> out(MaxPreTokens(text.size()));
  out.resize(step.Run({text}, whole, out));
  std::string joined;
  for (const PreToken& range : out) {
    if (!joined.empty()) joined += '|';
    joined.append(text, range.begin, range.end - range.begin);
  }
  return joined;
}

using Answer = std::function<std::string(const std::string&)>;
template <typename Step>
Answer Normalizing(Step step) {
  return [step = std::move(step)](const std::string& text) { return Normalize(step, text); };
}
template <typename Step>
Answer Cutting(Step step) {
  return [step = std::move(step)](const std::string& text) { return Cut(step, text); };
}

std::map<std::string, Answer> Normalizers() {
  const UnicodeFormStep nfd(UnicodeForm::kNfd);
  const RemoveStep nonspacing(&HfProperties::IsNonspacingMark);
  return {
      {"nfc", Normalizing(UnicodeFormStep(UnicodeForm::kNfc))},
      {"nfd", Normalizing(nfd)},
      {"nfkc", Normalizing(UnicodeFormStep(UnicodeForm::kNfkc))},
      {"nfkd", Normalizing(UnicodeFormStep(UnicodeForm::kNfkd))},
      {"nmt", Normalizing(NmtStep())},
      {"lowercase", Normalizing(LowercaseStep())},
      {"strip_accents", Normalizing(RemoveStep(&HfProperties::IsMark))},
      {"bert_clean", Normalizing(CleanTextStep())},
      {"bert_ideographs", Normalizing(IdeographStep())},
      {"bert_accents", [=](const std::string& text) { return Normalize(nonspacing, Normalize(nfd, text)); }},
  };
}

Answer PreTokenizer(const std::string& name) {
  if (name == "whitespace") return Cutting(WordRunsStep());
  if (name == "whitespace_split") return Cutting(WhitespaceSplitStep());
  if (name == "punctuation") return Cutting(PunctuationStep(SplitBehavior::kRemoved));
  if (name == "digits") return Cutting(DigitsStep({.individual_digits = true}));
  if (name == "scripts") return Cutting(UnicodeScriptsStep());
  const std::string_view split = "split:";
  if (!name.starts_with(split)) throw std::runtime_error(name + " is no step of this test");
  const std::string pattern = name.substr(split.size());
  EXPECT_EQ(Pattern::Check(Pattern::Kind::kRegex, pattern), std::nullopt) << pattern;
  return Cutting(PatternSplitStep({.pattern = pattern, .is_regex = true, .behavior = SplitBehavior::kRemoved}));
}

std::string Utf8(uint32_t c) {
  char bytes[kMaxUtf8Bytes];
  return {bytes, EncodeUtf8(c, bytes)};
}

// All of a block's characters, between what the golden puts there.
template <typename Between>
std::string Text(uint32_t begin, Between between) {
  std::string text;
  for (uint32_t c = begin; c < begin + kBlock; ++c) {
    if (c < 0xD800 || c > 0xDFFF) text += between(Utf8(c));
  }
  return text;
}

TEST(HfCodePoints, MatchReference) {
  std::ifstream file(TRELLIS_SOURCE_DIR "/tests/stage/hf_code_points.golden.txt");
  ASSERT_TRUE(file);
  const std::map<std::string, Answer> normalizers = Normalizers();
  std::map<std::string, Answer> pre_tokenizers;
  std::map<uint32_t, std::pair<std::string, std::string>> texts;
  size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name;
    uint32_t begin = 0, want = 0;
    ASSERT_TRUE(fields >> name >> std::hex >> begin >> want) << line;
    auto& [to_normalize, to_cut] = texts[begin];
    if (to_cut.empty()) {
      to_normalize = Text(begin, [](const std::string& c) { return "x" + c + "\u0323" + c + "\u0301a" + c; });
      to_cut = Text(begin, [](const std::string& c) { return c; });
    }
    const auto normalizer = normalizers.find(name);
    if (normalizer == normalizers.end() && !pre_tokenizers.contains(name)) pre_tokenizers[name] = PreTokenizer(name);
    const std::string got =
        normalizer != normalizers.end() ? normalizer->second(to_normalize) : pre_tokenizers[name](to_cut);
    EXPECT_EQ(Crc32(got), want) << name << ", U+" << std::hex << begin << " and on";
    ++rows;
  }
  EXPECT_EQ(texts.size(), 51u);  // 0x32000 / 4096, and one
  EXPECT_EQ(rows, texts.size() * 51);
}

}  // namespace
}  // namespace trellis::internal
