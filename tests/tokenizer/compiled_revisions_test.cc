// Holds the revisions of compiled files' sections to what is in them. When this
// fails, tables of the library have changed: raise the revision of each section
// that it names (src/compiled_file.cc), then write what it prints here. Nothing
// is said of whether the tables are right; the goldens do that.
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tests/reference/compiled_layout.h"
#include "tests/tokenizer/compiled_specs.h"
#include "trellis/internal/compiled.h"

namespace trellis {
namespace {

struct Pinned {
  uint32_t id;
  uint32_t revision;
  uint64_t checksum;
};

void Check(const TokenizerSpec& spec, const std::vector<Pinned>& pinned) {
  const std::string file = internal::CompiledBytes(spec).value();
  std::ostringstream found;
  bool same = true;
  size_t i = 0;
  for (const reference::CompiledSection& section : reference::SectionsOf(file)) {
    const auto revision = reference::LoadAt<uint32_t>(file, section.entry + reference::kRevisionInEntry);
    const auto checksum = reference::LoadAt<uint64_t>(file, section.entry + reference::kChecksumInEntry);
    const bool as_pinned = i < pinned.size() && pinned[i].id == section.id &&
                           pinned[i].revision == revision && pinned[i].checksum == checksum;
    same &= as_pinned;
    ++i;
    found << "{" << section.id << ", " << revision << ", 0x" << std::hex << checksum << std::dec << "},"
          << (as_pinned ? "" : "  // other") << "\n";
  }
  EXPECT_TRUE(same && i == pinned.size()) << found.str();
}

TEST(CompiledRevisions, WordsOfTokenizerJson) {
  Check(SpecWithRules(), {{0, 1, 0xff46627490501a91},
                          {1, 1, 0x7cb7272bd6605256},
                          {2, 1, 0xfd636d1313bcb462},
                          {3, 1, 0x225bc3029fe511e3},
                          {4, 1, 0xff7821ddf836d020},
                          {5, 1, 0xa1d0bd893c9531ac},
                          {7, 1, 0x64a18e986d5e7560},
                          {8, 1, 0xed5f12d0eff24704},
                          {9, 1, 0xc0d12a58fe7b2294},
                          {10, 1, 0x4dee998bf48fcccd},
                          {11, 1, 0xe5f671fc7f687941},
                          {12, 1, 0x40837aa08a0b971e},
                          {13, 1, 0xbe687c633f664d6e},
                          {14, 1, 0x7e803efc8a90545},
                          {15, 1, 0x3edf71fdecc0dbfd},
                          {16, 1, 0xd020541beaf8ecc1}});
}

TEST(CompiledRevisions, WordsOfSentencePiece) {
  Check(SummedSpec(), {{0, 1, 0xda975ca6acd34864},
                       {1, 1, 0x7cb7272bd6605256},
                       {2, 1, 0xfd636d1313bcb462},
                       {3, 1, 0x225bc3029fe511e3},
                       {4, 1, 0x9db67a29c53f84e5},
                       {5, 1, 0xa1d0bd893c9531ac},
                       {6, 1, 0x1b3f6f4d1e2df7ac},
                       {7, 1, 0x57ae44811628c14c},
                       {8, 1, 0x9a3202a6d0a23b8b},
                       {9, 1, 0x5e4e3f9fbc5eefa},
                       {10, 1, 0x4dee998bf48fcccd},
                       {11, 1, 0x18c4b0986c82ee4a},
                       {12, 1, 0x40837aa08a0b971e},
                       {13, 1, 0xbe687c633f664d6e},
                       {14, 1, 0x8d2f3ef2d5b698d},
                       {15, 1, 0xce8891d2681a4a22},
                       {16, 1, 0xd020541beaf8ecc1}});
}

TEST(CompiledRevisions, PlainPath) {
  Check(PlainSpec(), {{0, 1, 0xb297bb800be57561},
                      {1, 1, 0x7cb7272bd6605256},
                      {2, 1, 0xfd636d1313bcb462},
                      {3, 1, 0x225bc3029fe511e3},
                      {4, 1, 0xff7821ddf836d020},
                      {5, 1, 0xa1d0bd893c9531ac},
                      {6, 1, 0x217d0aec05f00918}});
}

}  // namespace
}  // namespace trellis
