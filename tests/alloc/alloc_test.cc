// Encode and Decode never allocate: malloc and operator new are counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "trellis/internal/compiled.h"
#include "trellis/trellis.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<int> allocations{0};
void Count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// glibc's own names behind the public ones.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t n) {
  Count();
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
  Count();
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t n) {
  Count();
  return __libc_realloc(p, n);
}
}
#define TRELLIS_COUNTS_MALLOC 1
#endif

namespace trellis {
namespace {

// A few hundred allocations' worth of everything that takes another way.
const std::vector<std::string>& Texts() {
  static const std::vector<std::string> texts = {
      "",
      "a",
      "Hello, world! The quick brown fox jumps over the lazy dog.",
      "Tie\u0302\u0301ng Vie\u0323\u0302t <mask> \uff1cs\uff1e </s>",
      "\xff\xfe broken \xe2\x96 bytes",
      "\x01 deleted at the start",
      std::string(5000, 'n'),
      "annnnn ppp0 -ccccc0",
      "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341 \u3053\u3093\u306b\u3061\u306f"};
  return texts;
}

// Specs that take the plain path and its stages. RE2 makes its automaton's states
// as texts need them, so each text comes once before it counts.
TokenizerSpec StagesSpec() {
  TokenizerSpec spec;
  spec.model.pieces = {{"<unk>", 0.0}, {"\u2581", -2.0}, {"a", -1.0}, {"e", -1.5}, {"<0x41>", -3.0}, {"<0xE4>", -3.0}};
  spec.model.unk_id = 0;
  spec.model.byte_fallback = true;
  AddedToken token;
  token.content = "brown";
  token.normalized = token.single_word = true;
  AddTokens({token}, spec);
  spec.normalizers = {NmtNormalizer{}, UnicodeNormalizer{UnicodeForm::kNfkd}, StripAccentsNormalizer{},
                      LowercaseNormalizer{}, StripNormalizer{}, ReplaceNormalizer{"[0-9]+|\\s{2,}", true, " "},
                      PrependNormalizer{"\u2581"}};
  spec.pre_tokenizers = {WhitespacePreTokenizer{}, PunctuationPreTokenizer{}, DigitsPreTokenizer{},
                         UnicodeScriptsPreTokenizer{},
                         SplitPreTokenizer{.pattern = "\\p{Lu}", .is_regex = true}, MetaspacePreTokenizer{}};
  return spec;
}

TEST(AllocStages, EncodeAllocatesNothing) {
  const auto tokenizer = Tokenizer::Create(StagesSpec());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  for (const std::string& text : Texts()) {
    Scratch scratch;
    scratch.Reserve(tokenizer->ScratchBytes(text.size()));
    std::vector<TokenId> ids(tokenizer->MaxTokens(text.size()));
    std::vector<Offset> offsets(ids.size());
    for (const bool counts : {false, true}) {
      allocations = 0;
      counting = counts;
      const auto encoding = tokenizer->Encode({text}, {}, scratch, {.ids = ids, .offsets = offsets});
      counting = false;
      ASSERT_TRUE(encoding.ok()) << encoding.status();
      EXPECT_EQ(allocations.load(), 0) << testing::PrintToString(text);
    }
  }
}

enum class Tables { kShortcuts, kPlain, kCompiled };

class Alloc : public testing::TestWithParam<Tables> {
 protected:
  Alloc() {
    const char* path = std::getenv("TRELLIS_MODEL");
    auto spec = LoadSpec(path != nullptr ? path : TRELLIS_SOURCE_DIR "/models/multilingual-e5-small");
    if (!spec.ok()) return;
    auto tokenizer = GetParam() == Tables::kCompiled
                         ? internal::TokenizerOfCompiledBytes(internal::CompiledBytes(*spec).value())
                         : Tokenizer::Create(*std::move(spec), {.shortcuts = GetParam() == Tables::kShortcuts});
    if (tokenizer.ok()) tokenizer_.emplace(*std::move(tokenizer));
  }

  template <typename F>
  int Allocations(F&& f) {
    allocations = 0;
    counting = true;
    f();
    counting = false;
    return allocations;
  }

  std::optional<Tokenizer> tokenizer_;
};

TEST_P(Alloc, TheCounterCounts) {
#ifdef TRELLIS_COUNTS_MALLOC
  // Through a volatile pointer, since compilers leave out pairs of new and delete that nobody looks at.
  EXPECT_EQ(Allocations([] { int* volatile one = new int(1); delete one; }), 1);
  EXPECT_EQ(Allocations([] { void* volatile one = std::malloc(1); std::free(one); }), 1);
#else
  GTEST_SKIP() << "malloc cannot be counted under this sanitizer or C library";
#endif
}

TEST_P(Alloc, EncodeAndDecodeDoNotAllocate) {
  ASSERT_TRUE(tokenizer_) << "run tools/fetch_model --tokenizer-only";
  for (const std::string& text : Texts()) {
    for (const Truncate truncate : {Truncate::kNever, Truncate::kLongestFirst}) {
      for (const bool match : {true, false}) {
        Scratch scratch;
        scratch.Reserve(tokenizer_->ScratchBytes(2 * text.size()));
        const size_t room = tokenizer_->MaxTokens(2 * text.size());
        std::vector<TokenId> ids(room);
        std::vector<Offset> offsets(room);
        std::vector<uint8_t> type_ids(room), mask(room);
        EncodeOptions options;
        options.match_special_tokens = match;
        options.truncate = truncate;
        options.max_length = 6;
        bool ok = false;
        const int count = Allocations([&] {
          ok = tokenizer_->Encode(Input{text, text}, options, scratch, {ids, offsets, type_ids, mask, {}}).ok();
        });
        EXPECT_TRUE(ok);
        EXPECT_EQ(count, 0) << testing::PrintToString(text);

        std::vector<char> out(tokenizer_->DecodedBytes(ids) + 1);
        EXPECT_EQ(Allocations([&] { ok = tokenizer_->Decode(ids, {}, out).ok(); }), 0);
        EXPECT_TRUE(ok);
      }
    }
  }
}

TEST_P(Alloc, ResourceExhaustedDoesNotAllocate) {
  ASSERT_TRUE(tokenizer_) << "run tools/fetch_model --tokenizer-only";
  const std::string text = "Hello, world! The quick brown fox jumps over the lazy dog.";
  std::vector<TokenId> ids(tokenizer_->MaxTokens(text.size()));
  Scratch scratch;
  scratch.Reserve(tokenizer_->ScratchBytes(text.size()));
  const auto enough = tokenizer_->Encode(Input{text}, {}, scratch, {.ids = ids});
  ASSERT_TRUE(enough.ok());
  const size_t needed = enough->ids.size();
  const auto code = [&](Scratch& with, std::span<TokenId> into) {
    absl::StatusCode result = absl::StatusCode::kUnknown;
    EXPECT_EQ(Allocations([&] { result = tokenizer_->Encode(Input{text}, {}, with, {.ids = into}).status().code(); }), 0);
    return result;
  };
  for (size_t room = 0; room < needed; ++room) {
    EXPECT_EQ(code(scratch, std::span(ids).first(room)), absl::StatusCode::kResourceExhausted) << room;
  }
  EXPECT_EQ(code(scratch, std::span(ids).first(needed)), absl::StatusCode::kOk);
  Scratch small;
  EXPECT_EQ(code(small, ids), absl::StatusCode::kResourceExhausted);
  // What the failed call asked for is what a later one needs: at most a few steps.
  for (int i = 0; i < 20 && small.capacity() < scratch.capacity(); ++i) {
    small.Reserve(small.high_water());
    if (code(small, ids) == absl::StatusCode::kOk) break;
  }
  EXPECT_EQ(code(small, ids), absl::StatusCode::kOk);
  std::vector<char> out(3);
  absl::StatusCode decoded = absl::StatusCode::kUnknown;
  const std::vector<TokenId> some = {35378, 4, 8999, 38};
  EXPECT_EQ(Allocations([&] { decoded = tokenizer_->Decode(some, {}, out).status().code(); }), 0);
  EXPECT_EQ(decoded, absl::StatusCode::kResourceExhausted);
}

TEST_P(Alloc, WindowsDoNotAllocate) {
  ASSERT_TRUE(tokenizer_) << "run tools/fetch_model --tokenizer-only";
  const std::string text = "Hello, world! The quick brown fox jumps over the lazy dog.";
  const Input input{text, text};
  const EncodeOptions options{.truncate = Truncate::kLongestFirst, .max_length = 12, .stride = 1};
  Scratch scratch;
  scratch.Reserve(tokenizer_->ScratchBytes(2 * text.size()));
  WindowRoom needed;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  const auto encode = [&](const EncodingBuffer& buffer) {
    code = tokenizer_->EncodeWindows(input, options, scratch, buffer, &needed).status().code();
  };
  EXPECT_EQ(Allocations([&] { encode({}); }), 0);
  EXPECT_EQ(code, absl::StatusCode::kResourceExhausted);
  EXPECT_GT(needed.rows, 4u);
  std::vector<TokenId> ids(needed.tokens);
  std::vector<Offset> offsets(needed.tokens);
  std::vector<uint8_t> type_ids(needed.tokens), mask(needed.tokens);
  std::vector<int32_t> ends(needed.rows + 1);
  EXPECT_EQ(Allocations([&] { encode({ids, offsets, type_ids, mask, ends}); }), 0);
  EXPECT_EQ(code, absl::StatusCode::kOk);
}

TEST_P(Alloc, AStreamDoesNotAllocateInTheLongRun) {
  ASSERT_TRUE(tokenizer_) << "run tools/fetch_model --tokenizer-only";
  const std::vector<TokenId> ids = tokenizer_->Encode(Texts()[2]).value().ids;
  DecodeStream stream(*tokenizer_);
  const auto decode = [&] {
    size_t bytes = 0;
    for (const TokenId id : ids) bytes += stream.Step(id).value_or(std::string_view()).size();
    return bytes + stream.Finish().value_or(std::string_view()).size();
  };
  decode();
  size_t bytes = 0;
  EXPECT_EQ(Allocations([&] { bytes = decode(); }), 0);
  EXPECT_EQ(bytes, Texts()[2].size());
}

INSTANTIATE_TEST_SUITE_P(Paths, Alloc, testing::Values(Tables::kShortcuts, Tables::kPlain, Tables::kCompiled),
                         [](const auto& tested) {
                           return tested.param == Tables::kShortcuts ? "Shortcuts"
                                  : tested.param == Tables::kPlain   ? "Plain"
                                                                     : "Compiled";
                         });

}  // namespace
}  // namespace trellis
