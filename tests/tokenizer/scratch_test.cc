// Scratch in the hands of tokenizers: growing, sharing, threads, fork.
#include "trellis/scratch.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/tokenizer/small_specs.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

// Words that are table hits, cache hits, lattice runs, unknown, long, malformed.
std::vector<std::string> Texts() {
  std::vector<std::string> texts = {"", "ab", "abcabc abab. \u00e9\u6771", "zz abczz", "\xff" "ab\xe2\x96", std::string(3000, 'b'), "<mask>a <s>"};
  std::string many;
  for (int i = 0; i < 500; ++i) many += "ab" + std::string(static_cast<size_t>(i % 40), "abc."[i % 4]) + " ";
  texts.push_back(many);
  return texts;
}

std::vector<TokenId> Ids(const Tokenizer& tokenizer, std::string_view text, Scratch& scratch) {
  std::vector<TokenId> ids(tokenizer.MaxTokens(text.size()));
  const auto encoding = tokenizer.Encode(Input{text}, {}, scratch, {.ids = ids});
  EXPECT_TRUE(encoding.ok()) << encoding.status();
  if (!encoding.ok()) return {};
  return {encoding->ids.begin(), encoding->ids.end()};
}

std::vector<TokenId> FreshIds(const Tokenizer& tokenizer, std::string_view text) {
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(text.size()));
  return Ids(tokenizer, text, scratch);
}

// Other pieces than SmallSpec's at the same ids.
TokenizerSpec OtherSpec() {
  TokenizerSpec spec = SmallSpec();
  std::swap(spec.model.pieces[9].text, spec.model.pieces[16].text);
  std::swap(spec.model.pieces[5].text, spec.model.pieces[6].text);
  return spec;
}

class ScratchOf : public testing::TestWithParam<bool> {
 protected:
  Tokenizer Make(const TokenizerSpec& spec) const { return Tokenizer::Create(spec, {.shortcuts = GetParam()}).value(); }
};
INSTANTIATE_TEST_SUITE_P(Paths, ScratchOf, testing::Bool(),
                         [](const auto& path) { return path.param ? "Shortcuts" : "Plain"; });

TEST_P(ScratchOf, GrowsToItsHighWaterUntilTheCallSucceeds) {
  const Tokenizer tokenizer = Make(SmallSpec());
  for (const std::string& text : Texts()) {
    for (const Truncate truncate : {Truncate::kNever, Truncate::kLongestFirst}) {
      const EncodeOptions options{.truncate = truncate, .max_length = 100000};
      std::vector<TokenId> ids(tokenizer.MaxTokens(text.size()));
      std::vector<Offset> offsets(ids.size());
      Scratch scratch;
      int calls = 0;
      for (;; ++calls) {
        const auto encoding = tokenizer.Encode(Input{text}, options, scratch, {.ids = ids, .offsets = offsets});
        if (encoding.ok()) {
          EXPECT_EQ(std::vector<TokenId>(encoding->ids.begin(), encoding->ids.end()), FreshIds(tokenizer, text));
          break;
        }
        ASSERT_EQ(encoding.status().code(), absl::StatusCode::kResourceExhausted);
        ASSERT_GT(scratch.high_water(), scratch.capacity());  // so that Reserve makes a difference
        ASSERT_LT(calls, 40);
        scratch.Reserve(scratch.high_water());
      }
      EXPECT_LE(scratch.high_water(), tokenizer.ScratchBytes(text.size()));
    }
  }
}

TEST_P(ScratchOf, TwoTokenizersTakeTurns) {
  const Tokenizer first = Make(SmallSpec());
  const Tokenizer second = Make(OtherSpec());
  Scratch scratch;
  scratch.Reserve(first.ScratchBytes(40000));
  size_t different = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::string& text : Texts()) {
      const std::vector<TokenId> a = Ids(first, text, scratch);
      const std::vector<TokenId> b = Ids(second, text, scratch);
      EXPECT_EQ(a, FreshIds(first, text));
      EXPECT_EQ(b, FreshIds(second, text));
      different += a != b;
    }
  }
  EXPECT_GT(different, 6u);  // one's words would be wrong for the other
}

// One with a word cache and one without: the second's scratch lies where the
// first's cached words do.
TEST(Scratch, ATokenizerWithoutWordsDoesNotHarmOneWithThem) {
  const Tokenizer fast = Tokenizer::Create(SmallSpec()).value();
  const Tokenizer plain = Tokenizer::Create(SmallSpec(), {.shortcuts = false}).value();
  const std::string word = "ab" + std::string(30, 'a') + "c";
  std::string others;
  for (int i = 0; i < 20; ++i) others += "b" + std::string(static_cast<size_t>(i + 3), "cabc"[i % 4]) + "a ";
  Scratch scratch;
  scratch.Reserve(std::max(fast.ScratchBytes(8192), plain.ScratchBytes(8192)));
  const std::vector<TokenId> want = FreshIds(plain, word);
  EXPECT_EQ(Ids(fast, word, scratch), want);
  // The plain path's first region is the text: these bytes, taken for the
  // cache's head, let the next record begin among the word's ids.
  Ids(plain, std::string("\x04\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16), scratch);
  EXPECT_EQ(Ids(fast, others, scratch), FreshIds(plain, others));
  EXPECT_EQ(Ids(fast, word, scratch), want);
}

TEST_P(ScratchOf, GrowsBetweenCallsWithoutHarm) {
  const Tokenizer tokenizer = Make(SmallSpec());
  const std::string text = "abcab zzab abcab";
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(text.size()));
  EXPECT_EQ(Ids(tokenizer, text, scratch), FreshIds(tokenizer, text));
  scratch.Reserve(scratch.capacity() * 3);  // other memory: what was cached is gone
  EXPECT_EQ(Ids(tokenizer, text, scratch), FreshIds(tokenizer, text));
  scratch.ClearCache();
  EXPECT_EQ(Ids(tokenizer, text, scratch), FreshIds(tokenizer, text));
  Scratch moved = std::move(scratch);
  EXPECT_EQ(Ids(tokenizer, text, moved), FreshIds(tokenizer, text));
}

// Borrowed memory holds anything at first and stays inside its bounds.
TEST_P(ScratchOf, BorrowedMemoryOfAnyBytes) {
  const Tokenizer tokenizer = Make(SmallSpec());
  for (const std::string& text : Texts()) {
    const size_t bytes = tokenizer.ScratchBytes(text.size());
    std::vector<std::byte> memory(bytes + 256, std::byte{0xA5});
    auto* begin = memory.data();
    while (reinterpret_cast<uintptr_t>(begin) % ScratchCarver::kAlign != 0) ++begin;
    Scratch scratch({begin, bytes});
    EXPECT_EQ(scratch.capacity(), bytes);
    EXPECT_EQ(Ids(tokenizer, text, scratch), FreshIds(tokenizer, text));
    for (auto* p = begin + bytes; p < memory.data() + memory.size(); ++p) ASSERT_EQ(*p, std::byte{0xA5});
  }
}

TEST_P(ScratchOf, EightThreadsOneTokenizer) {
  const Tokenizer tokenizer = Make(SmallSpec());
  const std::vector<std::string> texts = Texts();
  std::vector<std::vector<TokenId>> want;
  for (const std::string& text : texts) want.push_back(FreshIds(tokenizer, text));
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      Scratch scratch;
      scratch.Reserve(tokenizer.ScratchBytes(40000));
      for (size_t n = 0; n < 60; ++n) {
        const size_t i = (n * (t + 1)) % texts.size();
        wrong[t] += Ids(tokenizer, texts[i], scratch) != want[i];
        wrong[t] += tokenizer.Encode(texts[i])->ids != want[i];  // its own Scratch a thread
        wrong[t] += tokenizer.vocab().Find("<mask>") != kMask;   // built at the first call
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST_P(ScratchOf, AForkedChildEncodes) {
  const Tokenizer tokenizer = Make(SmallSpec());
  const std::vector<std::string> texts = Texts();
  std::vector<std::vector<TokenId>> want;
  for (const std::string& text : texts) want.push_back(tokenizer.Encode(text)->ids);
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    for (size_t i = 0; i < texts.size(); ++i) wrong += tokenizer.Encode(texts[i])->ids != want[i];
    _exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace trellis
