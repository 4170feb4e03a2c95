// A warm encoder allocates nothing for a row: malloc and operator new are counted on the thread that encodes.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "serve/gateway/row_encoder.h"
#include "serve/model/model_folder.h"
#include "tests/serve/model_files.h"

namespace {
thread_local bool counting = false;
thread_local int allocations = 0;
}  // namespace

// glibc's own names behind the public ones.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t size) {
  allocations += counting;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  allocations += counting;
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  allocations += counting;
  return __libc_realloc(old, size);
}
}
#define TRELLIS_COUNTS_MALLOC 1
#endif

namespace trellis::gateway {
namespace {

template <typename F>
int Allocations(F&& work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  return allocations;
}

const std::string kLong = [] {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "water under the bridge ";
  return text;
}();
const std::string kTexts[] = {"a",
                              "water",
                              "Tie\u0302\u0301ng Vie\u0323\u0302t <mask> </s>",
                              "broken \xff bytes",
                              "\u4e00\u4e8c\u4e09",
                              kLong};

class RowEncoderAlloc : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TRELLIS_COUNTS_MALLOC
    GTEST_SKIP() << "malloc cannot be counted under this sanitizer or C library";
#endif
  }

  // The same chunk twice: the first time an encoder may take what it needs, the second time nothing.
  void ExpectNone(const std::string& model, const std::vector<RowInput>& inputs, EncodeRules rules) {
    const auto folder = model::ReadModelFolder(testing::TinyModel(model));
    ASSERT_TRUE(folder.ok()) << folder.status();
    RowEncoder encoder(folder->tokenizer, folder->type_ids);
    rules.max_tokens = static_cast<size_t>(folder->max_tokens);
    rules.vocab_size = 1000;
    EncodedRows rows;
    const auto encode = [&] {
      for (size_t i = 0; i < inputs.size(); ++i)
        failed_ |= encoder.Append(inputs[i], i, rules, rows).has_value();
    };
    EXPECT_GT(Allocations(encode), 0) << "what is cold must be seen, or nothing is counted";
    const EncodedRows first = rows;
    rows.ids.clear();
    rows.type_ids.clear();
    rows.cu_seqlens.resize(1);
    EXPECT_EQ(Allocations(encode), 0) << model;
    EXPECT_FALSE(failed_);
    EXPECT_EQ(rows.ids, first.ids);
    EXPECT_EQ(rows.size(), inputs.size());
  }

  bool failed_ = false;
};

std::vector<RowInput> Singles() { return {std::begin(kTexts), std::end(kTexts)}; }
std::vector<RowInput> Pairs() {
  std::vector<RowInput> pairs;
  for (const std::string& first : kTexts) {
    for (const std::string& second : kTexts) pairs.emplace_back(TextPair{first, second});
  }
  return pairs;
}

TEST_F(RowEncoderAlloc, Texts) {
  for (const char* model : {"tiny-bert", "tiny-m3", "tiny-roberta"}) ExpectNone(model, Singles(), {});
}

TEST_F(RowEncoderAlloc, TextsBehindAPrompt) {
  EncodeRules rules;
  rules.prompt = "a prompt that is longer than a short string: ";
  ExpectNone("tiny-bert", Singles(), rules);
}

TEST_F(RowEncoderAlloc, CutOnEitherSide) {
  for (const Side side : {Side::kLeft, Side::kRight}) {
    EncodeRules rules;
    rules.side = side;
    ExpectNone("tiny-bert", {kLong, kLong}, rules);
  }
}

TEST_F(RowEncoderAlloc, Pairs) {
  ExpectNone("tiny-reranker", Pairs(), {});
  EncodeRules rules;
  rules.pair_cut = Truncate::kOnlySecond;
  rules.max_second_tokens = 5;
  ExpectNone("tiny-reranker", {TextPair{"a", kLong}, TextPair{"a", "water"}}, rules);
}

TEST_F(RowEncoderAlloc, TokenRows) {
  EncodeRules rules;
  rules.field = "a field whose name is longer than a short string";
  ExpectNone("tiny-bert", {TokenRow{5, 6, 7}, TokenRow(500, 9)}, rules);
}

}  // namespace
}  // namespace trellis::gateway
