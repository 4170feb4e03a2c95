// Every cut, and a flipped bit of every byte, of small models: a tokenizer or an error with a place, no
// crash, and no more memory than the file explains. What loads is used.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trellis/trellis.h"

namespace {
std::atomic<size_t> live{0}, peak{0};
}  // namespace

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRELLIS_COUNTS_MEMORY 1
void* operator new(size_t size) {
  void* const p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  const size_t now = live.fetch_add(malloc_usable_size(p)) + malloc_usable_size(p);
  size_t most = peak.load();
  while (most < now && !peak.compare_exchange_weak(most, now)) {
  }
  return p;
}
void operator delete(void* p) noexcept {
  if (p != nullptr) live.fetch_sub(malloc_usable_size(p));
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }
#endif

namespace trellis {
namespace {

std::string ReadFile(const std::string& name) {
  std::ifstream in(std::string(TRELLIS_SOURCE_DIR) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Use(const Tokenizer& tokenizer) {
  const auto encoded =
      tokenizer.Encode(Input{" hello <s> w\u00f6rld\xFF\u2581a  \u00bd"}, {.match_special_tokens = false});
  if (encoded.ok()) (void)tokenizer.Decode(encoded->ids);
}

class DamagedFiles : public testing::TestWithParam<const char*> {
 protected:
  DamagedFiles() : file_(ReadFile(GetParam())), is_json_(std::string_view(GetParam()).ends_with(".json")) {}

  // How much memory the file took, at most.
  void Load(std::string_view bytes, const std::string& what) {
    // Memory of its own, so that a sanitizer sees a read behind it.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    const std::string_view file(copy.data(), copy.size());
    const size_t before = live;
    peak = before;
    {
      const absl::StatusOr<TokenizerSpec> spec =
          is_json_ ? ParseTokenizerJson(file) : ParseSentencePieceModel(file);
      if (spec.ok()) {
        ++loaded_;
        // Tables of shortcuts take most of the time.
        const absl::StatusOr<Tokenizer> tokenizer = Tokenizer::Create(*spec, {.shortcuts = loaded_ % 8 == 1});
        ASSERT_TRUE(tokenizer.ok()) << what << ": " << tokenizer.status();
        Use(*tokenizer);
      } else {
        ++refused_;
        const std::string message(spec.status().message());
        ASSERT_NE(message.find(": "), std::string::npos) << what << ": no place in \"" << message << '"';
        ASSERT_EQ(message.find('\n'), std::string::npos) << what << ": " << message;
      }
    }
    most_ = std::max(most_, peak - before);
  }

  std::string file_;
  bool is_json_;
  size_t loaded_ = 0, refused_ = 0, most_ = 0;
};

TEST_P(DamagedFiles, AreRefusedOrWork) {
  ASSERT_GT(file_.size(), 100u) << GetParam();
  Load(file_, "whole");
  ASSERT_EQ(loaded_, 1u) << "the file itself";
  const bool all_bits = std::getenv("TRELLIS_ALL_BITS") != nullptr;
  for (size_t size = 0; size < file_.size(); ++size) {
    Load(std::string_view(file_).substr(0, size), "cut at " + std::to_string(size));
    if (HasFatalFailure()) return;
  }
  for (size_t at = 0; at < file_.size(); ++at) {
    for (int bit = all_bits ? 0 : static_cast<int>(at % 8);
         bit < (all_bits ? 8 : static_cast<int>(at % 8) + 1); ++bit) {
      std::string damaged = file_;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      Load(damaged, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(loaded_, file_.size() / 20);  // text and scores of pieces
  EXPECT_GT(refused_, file_.size() / 10);
#ifdef TRELLIS_COUNTS_MEMORY
  // Tables with a number a code point are of one size, 9 MB; all others grow with the file.
  EXPECT_LE(most_, (size_t{12} << 20) + 512 * file_.size());
#endif
  std::printf("%s: %zu bytes, %zu loaded, %zu refused, %zu bytes of memory at most\n", GetParam(),
              file_.size(), loaded_, refused_, most_);
}

#ifdef TRELLIS_COUNTS_MEMORY
// A few bytes of a file must not ask for memory by their number.
TEST(Memory, OfAHighIdIsThatOfALowOne) {
  const auto peak_of = [](TokenId id) {
    TokenizerSpec spec = ParseTokenizerJson(ReadFile("tests/cli/tiny.json")).value();
    spec.added_tokens.push_back({.content = "<far>", .id = id});
    const size_t before = live;
    peak = before;
    const Tokenizer tokenizer = Tokenizer::Create(std::move(spec), {.shortcuts = false}).value();
    Use(tokenizer);
    EXPECT_EQ(tokenizer.vocab().Text(id), "<far>");
    return peak - before;
  };
  const TokenId highest = (1 << 24) - 1;
  peak_of(highest);  // tables that all share
  EXPECT_LE(peak_of(highest), peak_of(1000) + 4096);
}
#endif

INSTANTIATE_TEST_SUITE_P(Small, DamagedFiles,
                         testing::Values("tests/cli/tiny.json", "tests/golden/sp_models/far_sums.model",
                                         "tests/golden/sp_models/ties.model",
                                         "tests/golden/sp_models/symbols_rules.model",
                                         "tests/golden/sp_models/denormalizer.model"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           name = name.substr(name.rfind('/') + 1);
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace trellis
