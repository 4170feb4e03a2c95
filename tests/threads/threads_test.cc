// One Tokenizer of every kind in many threads, first used by all at once; a child after fork; and a million
// distinct words that leave no memory behind. Under ThreadSanitizer, too: tools/check tsan.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/hostile/every_pipeline.h"
#include "tests/reference/random_spec.h"
#include "trellis/trellis.h"

namespace trellis {
namespace {

std::vector<std::string> Texts(uint32_t seed, size_t count) {
  reference::Choices choices(seed);
  reference::RandomSpec texts(choices);
  std::vector<std::string> out(count);
  for (std::string& text : out) text = texts.Text(24);
  return out;
}

// Everything that a thread may ask of a tokenizer, as one number.
size_t UseOnce(const Tokenizer& tokenizer, const std::string& text) {
  const absl::StatusOr<EncodedText> encoded =
      tokenizer.Encode(Input{text}, {.match_special_tokens = text.size() % 2 == 0});
  if (!encoded.ok()) return 1;
  size_t sum = std::hash<std::string>()(tokenizer.Decode(encoded->ids));
  for (size_t i = 0; i < encoded->ids.size(); ++i) {
    sum = sum * 31 + static_cast<size_t>(encoded->ids[i]) * 7 + encoded->offsets[i].begin +
          3 * encoded->offsets[i].end;
  }
  return sum * 31 + static_cast<size_t>(tokenizer.vocab().Find("<s>").value_or(-1));
}

TEST(Threads, GetWhatOneThreadGets) {
  constexpr size_t kThreads = 6;
  const std::vector<std::string> texts = Texts(7, 60);
  for (const NamedSpec& named : EveryPipeline()) {
    std::vector<size_t> want;
    const Tokenizer alone = Tokenizer::Create(named.spec).value();
    for (const std::string& text : texts) want.push_back(UseOnce(alone, text));

    const Tokenizer shared = Tokenizer::Create(named.spec).value();  // whose first use is everybody's
    std::atomic<size_t> different{0}, waiting{kThreads};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const Tokenizer copy = shared;
        waiting.fetch_sub(1);
        while (waiting.load() > 0) std::this_thread::yield();
        for (size_t i = 0; i < texts.size(); ++i) {
          const size_t at = (i + t * 11) % texts.size();
          different += UseOnce(copy, texts[at]) != want[at];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(different.load(), 0u) << named.name;
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST(Fork, TheChildEncodes) {
  const std::vector<std::string> texts = Texts(8, 40);
  std::vector<Tokenizer> tokenizers;
  std::vector<size_t> want;
  for (const NamedSpec& named : EveryPipeline()) {
    tokenizers.push_back(Tokenizer::Create(named.spec).value());
    for (const std::string& text : texts) want.push_back(UseOnce(tokenizers.back(), text));
  }
  // Others are at work while the process splits.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    for (size_t i = 0; !stop; ++i) UseOnce(tokenizers[i % tokenizers.size()], texts[i % texts.size()]);
  });
  const pid_t child = fork();
  if (child == 0) {
    size_t at = 0, different = 0;
    for (const Tokenizer& tokenizer : tokenizers) {
      for (const std::string& text : texts) different += UseOnce(tokenizer, text) != want[at++];
    }
    _exit(different == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_GT(child, 0);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  stop = true;
  busy.join();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

size_t ResidentBytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Nothing is remembered of words but in the cache, which has its size.
TEST(Memory, AMillionDistinctWordsLeaveItFlat) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory grows";
#endif
  for (const NamedSpec& named : EveryPipeline()) {
    const bool is_summed = named.name == "SentencePiece 7";
    if (named.name != "XLM-RoBERTa" && named.name != "ALBERT" && named.name != "Split" && !is_summed)
      continue;
    const Tokenizer tokenizer = Tokenizer::Create(named.spec).value();
    constexpr size_t kWords = 1000000, kWordsOfText = 100, kMostBytes = 1400;
    Scratch scratch;
    scratch.Reserve(tokenizer.ScratchBytes(kMostBytes));
    std::vector<TokenId> ids(tokenizer.MaxTokens(kMostBytes));
    size_t after_some = 0, tokens = 0;
    std::string text;
    for (size_t word = 0; word < kWords;) {
      text.clear();
      for (size_t i = 0; i < kWordsOfText; ++i, ++word) {
        for (size_t rest = word; rest != 0; rest /= 8) text += "a<s>/mk-"[rest % 8];
        text += "9 ";
      }
      const auto encoding = tokenizer.Encode({.text = text}, {}, scratch, {.ids = ids});
      ASSERT_TRUE(encoding.ok()) << encoding.status();
      tokens += encoding->ids.size();
      if (word == kWords / 4) after_some = ResidentBytes();
    }
    const size_t at_the_end = ResidentBytes();
    EXPECT_GT(tokens, kWords) << named.name;
    EXPECT_LE(at_the_end, after_some + (size_t{1} << 20)) << named.name;
    std::printf("%s: %.1f MB resident after a quarter, %.1f MB after all\n", named.name.c_str(),
                static_cast<double>(after_some) / 1e6, static_cast<double>(at_the_end) / 1e6);
  }
}

}  // namespace
}  // namespace trellis
