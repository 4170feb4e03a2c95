// Long texts of one kind on every pipeline: they fit into ScratchBytes and MaxTokens; and time is linear, which is
// looked at only with
//   TRELLIS_LONG_TEXT=4194304   the longer text's bytes (tools/check --full); the shorter has a quarter.
// What is timed is this thread's own processor time, the least of several runs or the median of pairs, so that a
// busy machine does not decide.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hostile/every_pipeline.h"
#include "trellis/trellis.h"

namespace trellis {
namespace {

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string Repeated(std::string_view part, size_t bytes) {
  std::string text;
  text.reserve(bytes + part.size());
  while (text.size() < bytes) text += part;
  return text;
}

const std::vector<std::pair<const char*, std::string_view>> kKinds = {
    {"one letter", "a"},
    {"blanks", " "},
    {"markers", "\u2581"},
    {"one special", "<s>"},
    {"special and blank", " <mask> "},
    {"half a special", "<"},
    {"marks", "\u0301"},
    {"marks to be sorted", "\u0316\u0301"},
    {"a letter under marks", "a\u0301\u0316"},
    {"joined emoji", "\U0001F468\u200D\U0001F469\u200D"},
    {"conjuncts", "\u0915\u094d"},
    {"malformed bytes", "\xFF"},
    {"half characters", "\xF0\x9F\x98"},
    {"what grows", "\ufdfa"},
    {"nothing known", "\U00012345"},
    {"words", "aa s> k. "},
};

class LongTexts {
 public:
  LongTexts(const NamedSpec& named, const TokenizerOptions& options)
      : name_(named.name), tokenizer_(Tokenizer::Create(named.spec, options).value()) {}

  // Seconds of one call; the text must fit into what is promised.
  double Encode(const std::string& text, const char* kind, bool shield, Scratch& scratch) {
    const size_t bytes = tokenizer_.ScratchBytes(text.size()), tokens = tokenizer_.MaxTokens(text.size());
    scratch.Reserve(bytes);
    // More than any text here takes, and less than the bound, which is lazy memory only in scratch.
    std::vector<TokenId> ids(std::min(tokens, 24 * text.size() + 64));
    const double begin = ThreadSeconds();
    const auto encoding =
        tokenizer_.Encode({.text = text}, {.match_special_tokens = !shield}, scratch, {.ids = ids});
    const double seconds = ThreadSeconds() - begin;
    EXPECT_TRUE(encoding.ok()) << name_ << ", " << kind << ": " << encoding.status() << ", high water "
                               << scratch.high_water() << " of " << bytes;
    EXPECT_LE(scratch.high_water(), bytes) << name_ << ", " << kind;
    return seconds;
  }

  // How many times as long the text takes that is four times as long.
  double Growth(const char* kind, std::string_view part, size_t bytes, bool shield) {
    const std::string shorter = Repeated(part, bytes / 4), longer = Repeated(part, bytes);
    double least[2] = {1e9, 1e9};
    // Of neighbours in time, whose company is the same.
    std::vector<double> ratios;
    // Kept, so that the least has no time of the kernel's for memory that is touched for the first time.
    Scratch scratch[2];
    double growth = 0;
    // Below this nothing is slow, and what is measured is the machine's company.
    const double fast = 12e-9 * static_cast<double>(shorter.size());
    for (int run = 0; run < 15; ++run) {
      const double one = Encode(shorter, kind, shield, scratch[0]), four = Encode(longer, kind, shield, scratch[1]);
      least[0] = std::min(least[0], one);
      least[1] = std::min(least[1], four);
      ratios.push_back(four / std::max(one, fast));
      std::sort(ratios.begin(), ratios.end());
      growth = least[1] / std::max(least[0], fast);
      if (run >= 4) growth = std::min(growth, ratios[ratios.size() / 2]);
      if (growth < 5) break;  // nothing to be wrong about
    }
    return growth;
  }

 private:
  std::string name_;
  Tokenizer tokenizer_;
};

TEST(LongTexts, FitAndTakeLinearTimeOnEveryPipeline) {
  const char* given = std::getenv("TRELLIS_LONG_TEXT");
  const size_t bytes = given != nullptr ? static_cast<size_t>(std::atoll(given)) : size_t{64} << 10;
  constexpr double kLimit = 5.0;  // a quadratic step would give 16
  double worst = 0;
  std::string worst_name;
  for (const NamedSpec& named : EveryPipeline()) {
    for (const bool shortcuts : {true, false}) {
      LongTexts texts(named, {.shortcuts = shortcuts});
      for (const auto& [kind, part] : kKinds) {
        const bool shield = kind == std::string_view("half a special");
        if (given == nullptr) {
          Scratch scratch;
          texts.Encode(Repeated(part, bytes), kind, shield, scratch);
          continue;
        }
        const double growth = texts.Growth(kind, part, bytes, shield);
        EXPECT_LT(growth, kLimit) << named.name << (shortcuts ? "" : ", plain") << ", " << kind;
        if (growth > worst) {
          worst = growth;
          worst_name = named.name + (shortcuts ? ", " : ", plain, ") + kind;
        }
      }
    }
  }
  if (given == nullptr) return;
  std::printf("%zu bytes against a quarter: at most %.2f times as long (%s)\n", bytes, worst, worst_name.c_str());
}

// A bound that no text comes near is memory that nobody has. Of these the first two grow most, in bytes and
// characters, where a text may be cut at blanks and where it may not; tokens wait in scratch, since the text is
// to be truncated.
TEST(LongTexts, BoundsAreNotFarFromWhatTheWorstTake) {
  for (const NamedSpec& named : EveryPipeline()) {
    if (named.name != "XLM-RoBERTa" && named.name != "SentencePiece 7") continue;
    for (const bool shortcuts : {true, false}) {
      const Tokenizer tokenizer = Tokenizer::Create(named.spec, {.shortcuts = shortcuts}).value();
      size_t bound = 0, most = 0;
      for (const std::string_view part : {"\ufdfa", "\u3316", "a"}) {
        const std::string text = Repeated(part, size_t{3} << 16);
        Scratch scratch;
        bound = tokenizer.ScratchBytes(text.size());
        scratch.Reserve(bound);
        std::vector<TokenId> ids(512);
        const EncodeOptions options{.truncate = Truncate::kLongestFirst, .max_length = 512};
        ASSERT_TRUE(tokenizer.Encode({.text = text}, options, scratch, {.ids = ids}).ok());
        most = std::max(most, scratch.high_water());
      }
      std::printf("%s%s: %zu bytes of scratch, %zu used\n", named.name.c_str(), shortcuts ? "" : ", plain", bound, most);
      EXPECT_LE(bound, 3 * most) << named.name << (shortcuts ? "" : ", plain");
    }
  }
}

}  // namespace
}  // namespace trellis
