// Compiled files that are damaged, and such as are made to do harm: an error that
// names the place, or a tokenizer that stays inside its tables. Never a crash.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/compiled_layout.h"
#include "tests/tokenizer/compiled_specs.h"
#include "trellis/internal/compiled.h"
#include "trellis/internal/stage/word_table.h"
#include "trellis/internal/trie/bitmap_trie.h"
#include "trellis/internal/trie/char_trie.h"

namespace trellis {
namespace {

using internal::BitmapTrieNode;
using internal::CharUnit;
using internal::CompiledBytes;
using internal::TokenizerOfCompiledBytes;
using internal::WordEntry;
using reference::CompiledSection;
using reference::LoadAt;
using reference::Reseal;
using reference::SectionOf;
using reference::StoreAt;

// Numbers of src/compiled_file.h.
enum : uint32_t {
  kSpec,
  kPieceBegins,
  kPieceTexts,
  kPieceScores,
  kPieceTypes,
  kShielded,
  kByteTrie,
  kAlphabet,
  kCodePointPages,
  kCodePoints,
  kRawSymbolPages,
  kRawSymbols,
  kReplacements,
  kReplacementSymbols,
  kSymbolTrie,
  kWords,
  kWordPilots
};

std::string Error(std::string_view file) {
  const absl::StatusOr<Tokenizer> tokenizer = TokenizerOfCompiledBytes(file);
  if (tokenizer.ok()) return "";
  EXPECT_TRUE(absl::IsInvalidArgument(tokenizer.status()) || absl::IsUnimplemented(tokenizer.status()))
      << tokenizer.status();
  return std::string(tokenizer.status().message());
}

bool NamesAPlace(std::string_view error) {
  return error.starts_with("byte ") || error.starts_with("section ");
}

TEST(CompiledDamage, AnyByteFlipped) {
  const std::string file = CompiledBytes(SummedSpec()).value();
  const Tokenizer built = Tokenizer::Create(SummedSpec()).value();
  std::string damaged = file;
  size_t unnoticed = 0;
  for (size_t at = 0; at < file.size(); ++at) {
    damaged[at] = static_cast<char>(file[at] ^ (1 << at % 8));
    if (const std::string error = Error(damaged); error.empty()) {
      if (++unnoticed == 1) UseTokenizer(TokenizerOfCompiledBytes(damaged).value(), &built);
    } else {
      EXPECT_TRUE(NamesAPlace(error)) << at << ": " << error;
    }
    damaged[at] = file[at];
  }
  // What fills up to the next section means nothing.
  EXPECT_LT(unnoticed, reference::SectionsOf(file).size() * 64);
}

TEST(CompiledDamage, CutAnywhere) {
  for (const TokenizerSpec& spec : {SmallSpec(), SummedSpec()}) {
    const std::string file = CompiledBytes(spec).value();
    for (size_t size = 0; size < file.size(); ++size) {
      const std::string error = Error(std::string_view(file).substr(0, size));
      EXPECT_TRUE(NamesAPlace(error)) << size << ": " << error;
    }
    EXPECT_TRUE(NamesAPlace(Error(file + '\0')));
  }
}

TEST(CompiledDamage, AnotherVersionIsNamed) {
  const std::string file = CompiledBytes(SmallSpec()).value();
  const auto changed = [&](size_t at, uint32_t value) {
    std::string other = file;
    StoreAt(other, at, value);
    Reseal(other);
    return Error(other);
  };
  EXPECT_EQ(
      changed(reference::kVersionAt, 2),
      "byte 12: version 2, expected 1: another version of trellis wrote this file, compile the model again");
  EXPECT_EQ(changed(8, 0x04030201),
            "byte 8: the other byte order, expected this machine's: compile the model again here");
  const CompiledSection words = SectionOf(file, kWords);
  EXPECT_EQ(changed(words.entry + reference::kRevisionInEntry, 7),
            "section words: revision 7, expected 1: another version of trellis wrote this file, compile the "
            "model again");
  EXPECT_NE(changed(words.entry, 99).find("section 99, expected one below 17"), std::string::npos);
  EXPECT_EQ(changed(words.entry, kSymbolTrie), "section symbol trie: there twice, expected once");
  EXPECT_NE(
      changed(words.entry + reference::kBeginInEntry, 0xFFFFFFC0).find("section words: bytes 4294967232"),
      std::string::npos);
}

// One element of a section is another; the checksums are right.
struct Harm {
  const char* what;
  TokenizerSpec (*spec)();
  uint32_t section;
  std::function<void(char*, size_t)> change;  // the section's bytes
  const char* error;                          // begins with; null: may load
};

template <typename T>
std::function<void(char*, size_t)> Set(size_t at, T value) {
  return [=](char* bytes, size_t) { std::memcpy(bytes + at, &value, sizeof value); };
}
template <typename T>
std::function<void(char*, size_t)> Each(void (*change)(T&)) {
  return [=](char* bytes, size_t size) {
    for (size_t at = 0; at + sizeof(T) <= size; at += sizeof(T)) {
      T element;
      std::memcpy(&element, bytes + at, sizeof element);
      change(element);
      std::memcpy(bytes + at, &element, sizeof element);
    }
  };
}

const Harm kHarms[] = {
    {"a dialect that there is not", SmallSpec, kSpec, Set<uint8_t>(0, 2),
     "section spec: byte 1: 2, expected at most 1"},
    {"more added tokens than bytes", SmallSpec, kSpec, Set<uint64_t>(1, ~uint64_t{0}),
     "section spec: byte 9: a length of 18446744073709551615"},
    {"an added token's id", SmallSpec, kSpec, Set<int32_t>(1 + 8 + 8 + 3, 5),
     "section spec: added_tokens[0].id"},
    {"texts that go back", SmallSpec, kPieceBegins, Set<uint32_t>(8, 1u << 30),
     "section piece begins: [2]: 1073741824"},
    {"texts beyond the end", SmallSpec, kPieceBegins, Set<uint32_t>(18 * 4, 1u << 30),
     "section piece begins: [18]: 1073741824"},
    {"a score that is no number", SmallSpec, kPieceScores, Set<uint64_t>(8, 0x7FF8000000000000),
     "section spec: model.pieces[1].score"},
    {"scores above zero", SmallSpec, kPieceScores, Each<double>([](double& s) { s = -s; }),
     "section piece scores: one above zero"},
    {"scores whose sums overflow", SmallSpec, kPieceScores, Each<double>([](double& s) { s = -1e308; }),
     "section piece scores: one above zero or without a sum"},
    {"scores above zero, no words", PlainSpec, kPieceScores, Each<double>([](double& s) { s = -s; }),
     nullptr},
    {"a type that there is not", SummedSpec, kPieceTypes, Set<uint8_t>(6, 6),
     "section piece types: [6]: another value, expected at most 5"},
    {"a type of the other dialect", SmallSpec, kPieceTypes, Set<uint8_t>(6, 2),
     "section spec: model.pieces[6].type"},
    {"an id to shield", SmallSpec, kShielded, Set<int32_t>(0, 18), "section shielded: [0]: 18"},
    {"specials that are not shielded", SmallSpec, kShielded, Each<int32_t>([](int32_t& id) { id = 7; }),
     nullptr},
    {"a node that leads back", PlainSpec, kByteTrie, Set<uint32_t>(40, 0), "section byte trie: [0]: "},
    {"children beyond the end", PlainSpec, kByteTrie, Set<uint64_t>(64, ~uint64_t{0}),
     "section byte trie: [1]: "},
    {"a node's ranks", PlainSpec, kByteTrie, Set<uint8_t>(51, 200), "section byte trie: [0]: other ranks"},
    {"a piece's id", PlainSpec, kByteTrie, Each<BitmapTrieNode>([](BitmapTrieNode& n) { n.id = -2; }),
     "section byte trie: [0]: id -2"},
    {"no alphabet", SmallSpec, kAlphabet, Set<uint32_t>(0, 0), "section alphabet: "},
    {"a smaller alphabet", SmallSpec, kAlphabet, Set<uint32_t>(0, 3), "section raw symbols: ["},
    {"a larger alphabet", SmallSpec, kAlphabet, Set<uint32_t>(0, 0xFFFE), "section symbol trie: "},
    {"a page beyond the end", SmallSpec, kCodePointPages, Set<uint16_t>(100, 60000),
     "section code point pages: "},
    {"a first page that says something", SmallSpec, kCodePoints, Set<uint32_t>(0, 1),
     "section code point pages: "},
    {"a symbol beyond the alphabet", SmallSpec, kCodePoints, Set<uint32_t>(128 * 4, 500),
     "section code points: [128]"},
    {"a replacement that there is not", SpecWithRules, kCodePoints, Set<uint32_t>(128 * 4, 1u << 17 | 2),
     "section code points: [128]"},
    {"a raw symbol beyond the alphabet", SmallSpec, kRawSymbols, Set<uint32_t>(128 * 4, 1u << 20),
     "section raw symbols: [128]"},
    {"a replacement beyond the symbols", SpecWithRules, kReplacements, Set<uint32_t>(0, 100),
     "section replacements: [0]"},
    {"a replacement that is too long", SpecWithRules, kReplacements, Set<uint32_t>(12, 0xFFFFFFFF),
     "section replacements: [1]"},
    {"replacements that are all symbols", SpecWithRules, kReplacements,
     Each<uint64_t>([](uint64_t& r) { r = uint64_t{5} << 32; }),
     "section replacements: 5 symbols for a byte, expected at most the rules' 4"},
    {"replacements that are blanks", SpecWithRules, kReplacementSymbols,
     Each<uint16_t>([](uint16_t& s) { s = 0xFFFF; }), nullptr},
    {"a replacement's symbol", SpecWithRules, kReplacementSymbols, Set<uint16_t>(0, 0xFFFE),
     "section replacement symbols: [0]"},
    {"a base of nothing", SmallSpec, kSymbolTrie, Set<uint32_t>(0, 0), "section symbol trie: [0]"},
    {"a base beyond the end", SmallSpec, kSymbolTrie, Each<CharUnit>([](CharUnit& u) { u.base = 1u << 20; }),
     "section symbol trie: [0]"},
    {"an id beyond the pieces", SmallSpec, kSymbolTrie, Set<int32_t>(16 * 3 + 12, 18),
     "section symbol trie: [3]"},
    {"an id of its own sign", SmallSpec, kSymbolTrie, Set<int32_t>(16 * 3 + 12, -1),
     "section symbol trie: [3]"},
    {"the end of texts as a symbol", SmallSpec, kSymbolTrie, Set<uint16_t>(16 * 3 + 4, 0),
     "section symbol trie: [3]"},
    {"a control piece out of text", SummedSpec, kSymbolTrie, Each<CharUnit>([](CharUnit& u) { u.id = kBos; }),
     "section symbol trie: [0]"},
    {"a special for each piece", SmallSpec, kSymbolTrie, Each<CharUnit>([](CharUnit& u) { u.id = kBos; }), nullptr},
    {"a special for the unknown", SmallSpec, kSymbolTrie, Each<CharUnit>([](CharUnit& u) {
       if (u.id == kUnk) u.id = kBos;
     }),
     nullptr},
    {"units that all have all children", SmallSpec, kSymbolTrie,
     Each<CharUnit>([](CharUnit& u) { u.children = 0xFFFF; }), nullptr},
    {"costs of the highest", SmallSpec, kSymbolTrie, Each<CharUnit>([](CharUnit& u) { u.cost = 0xFFFFFFFF; }),
     nullptr},
    {"costs of nothing", SummedSpec, kSymbolTrie, Each<CharUnit>([](CharUnit& u) { u.cost = 0; }), nullptr},
    {"words that are specials", SmallSpec, kWords, Each<WordEntry>([](WordEntry& w) { w.id = kBos; }),
     "section words: ["},
    {"words that are control pieces", SummedSpec, kWords, Each<WordEntry>([](WordEntry& w) { w.id = kBos; }),
     "section words: ["},
    {"words beyond the pieces", SmallSpec, kWords, Each<WordEntry>([](WordEntry& w) { w.id = 18; }),
     "section words: [0]"},
    {"words of odd lengths", SmallSpec, kWords, Each<WordEntry>([](WordEntry& w) {
       w.length = 255;
       w.punctuation = 255;
     }),
     nullptr},
    {"other pilots", SmallSpec, kWordPilots, Each<uint16_t>([](uint16_t& p) { p = 0xFFFF; }), nullptr},
};

std::string Harmed(const Harm& harm) {
  std::string file = CompiledBytes(harm.spec()).value();
  const CompiledSection section = SectionOf(file, harm.section);
  const std::string before = file;
  harm.change(file.data() + section.begin, section.bytes);
  EXPECT_NE(file, before) << harm.what;
  Reseal(file);
  return file;
}

TEST(CompiledDamage, HarmBehindRightChecksums) {
  for (const Harm& harm : kHarms) {
    SCOPED_TRACE(harm.what);
    const std::string file = Harmed(harm);
    const absl::StatusOr<Tokenizer> tokenizer = TokenizerOfCompiledBytes(file);
    if (harm.error != nullptr) {
      EXPECT_TRUE(std::string_view(std::string(tokenizer.status().message())).starts_with(harm.error))
          << tokenizer.status();
    }
    if (tokenizer.ok()) UseTokenizer(*tokenizer);
  }
}

// Units that are their own children: the walk ends where a piece may be no longer.
TEST(CompiledDamage, ATrieThatGoesRound) {
  for (const TokenizerSpec& spec : {SmallSpec(), SummedSpec()}) {
    std::string file = CompiledBytes(spec).value();
    const CompiledSection section = SectionOf(file, kSymbolTrie);
    const uint32_t alphabet = LoadAt<uint32_t>(file, SectionOf(file, kAlphabet).begin);
    size_t changed = 0;
    for (uint32_t i = alphabet + 1; i < section.bytes / sizeof(CharUnit); ++i) {
      const size_t at = section.begin + i * sizeof(CharUnit);
      auto unit = LoadAt<CharUnit>(file, at);
      if (unit.check > alphabet || i - unit.check < 1) continue;
      unit.base = i - unit.check;
      unit.children = 0xFFFF;
      unit.cost = 1;
      StoreAt(file, at, unit);
      ++changed;
    }
    EXPECT_GT(changed, 5u);
    Reseal(file);
    const absl::StatusOr<Tokenizer> tokenizer = TokenizerOfCompiledBytes(file);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    UseTokenizer(*tokenizer);
    for (const char c : {'a', 'b', 'c', '.'}) EncodeExactly(*tokenizer, "ab" + std::string(5000, c), {});
  }
}

// Sections that are not there, and such as are cut.
TEST(CompiledDamage, SectionsThatAreMissingOrShort) {
  for (const TokenizerSpec& spec : CompiledSpecs()) {
    const std::string file = CompiledBytes(spec).value();
    for (const CompiledSection& section : reference::SectionsOf(file)) {
      for (const uint64_t size : {uint64_t{0}, section.bytes / 2, section.bytes - 1}) {
        std::string cut = file;
        StoreAt(cut, section.entry + reference::kBytesInEntry, size);
        Reseal(cut);
        if (const auto tokenizer = TokenizerOfCompiledBytes(cut); tokenizer.ok()) UseTokenizer(*tokenizer);
      }
      std::string without = file;
      const size_t after = section.entry + reference::kEntryBytes;
      const size_t end = reference::kListAt + reference::SectionsOf(file).size() * reference::kEntryBytes;
      std::memmove(without.data() + section.entry, file.data() + after, end - after);
      StoreAt(without, reference::kSectionCountAt,
              static_cast<uint32_t>(reference::SectionsOf(file).size() - 1));
      Reseal(without);
      const absl::StatusOr<Tokenizer> tokenizer = TokenizerOfCompiledBytes(without);
      if (tokenizer.ok()) UseTokenizer(*tokenizer);
      // Tries are built again where they are not there, and so nothing is missing.
      EXPECT_EQ(tokenizer.ok(), section.id == kByteTrie || section.id == kWords)
          << section.id << ": " << tokenizer.status();
    }
  }
}

// Any bytes of any section, with right checksums.
TEST(CompiledDamage, RandomHarm) {
  std::mt19937 random(20);
  size_t loaded = 0, refused = 0;
  for (const TokenizerSpec& spec : CompiledSpecs()) {
    const std::string file = CompiledBytes(spec).value();
    for (const CompiledSection& section : reference::SectionsOf(file)) {
      if (section.bytes == 0) continue;
      for (int round = 0; round < 16; ++round) {
        std::string harmed = file;
        for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
          constexpr uint8_t kOdd[] = {0, 1, 0x7F, 0x80, 0xFF};
          const size_t at = section.begin + random() % section.bytes;
          harmed[at] = static_cast<char>(random() % 2 == 0 ? kOdd[random() % std::size(kOdd)] : random());
        }
        Reseal(harmed);
        const absl::StatusOr<Tokenizer> tokenizer = TokenizerOfCompiledBytes(harmed);
        tokenizer.ok() ? ++loaded : ++refused;
        if (tokenizer.ok()) {
          UseTokenizer(*tokenizer);
        } else {
          EXPECT_TRUE(NamesAPlace(std::string(tokenizer.status().message()))) << tokenizer.status();
        }
      }
    }
  }
  EXPECT_GT(loaded, 100u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace trellis
