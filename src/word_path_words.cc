// Loading of WordPath: the table of words that the lattice makes one piece of.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "src/word_path_job.h"
#include "src/word_path_spec.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

constexpr std::string_view kPunctuations = ",.:;)?!\"";
static_assert(kPunctuations.size() == WordTable::kPunctuations);

}  // namespace

// Punctuation that is cut off a word that is looked up.
void WordPath::FindPunctuation() {
  const CharTrie trie = trie_.view();
  for (size_t i = 0; i < kPunctuations.size(); ++i) {
    const auto byte = static_cast<uint8_t>(kPunctuations[i]);
    const uint32_t entry = code_points_[byte];
    const uint32_t symbol = entry & CodePointTable::kNumberMask;
    // Alone it must be itself, a character, and a piece, which may come out of any text.
    if (blanks_.Has(byte) || (entry & CodePointTable::kFlags) != 0 || symbol == kUnknownSymbol) continue;
    const TokenId id = trie.units[symbol].id;
    if (id == UnkId() || (plain_ != nullptr && plain_->IsShielded(id))) continue;
    punctuation_[byte] = static_cast<uint8_t>(i + 1);
    punctuation_ids_[i + 1] = id;
  }
}

// Puts every word that the lattice makes one piece of into the table.
void WordPath::BuildWords(const PieceList& pieces, std::string_view marker, PageSize page_size) {
  // Which characters stand before which punctuation inside a piece: between
  // others, no piece reaches across.
  std::array<std::vector<bool>, WordTable::kPunctuations> joined;
  joined.fill(std::vector<bool>(alphabet_ + 1, false));
  for (size_t id = 0; id < pieces.size(); ++id) {
    uint32_t previous = 0;
    ForEachCodePoint(pieces.text(id), [&](uint32_t c) {
      const size_t index = c < 0x80 ? kPunctuations.find(static_cast<char>(c)) : std::string_view::npos;
      if (index != std::string_view::npos) joined[index][raw_symbols_[previous] & CodePointTable::kNumberMask] = true;
      previous = c;
    });
  }
  // And none that is in an added token is looked for apart from its word.
  for (const AddedTokenRule& rule : normalized_->rules()) {
    for (size_t i = 0; i < kPunctuations.size(); ++i) {
      if (rule.pattern.find(kPunctuations[i]) != std::string::npos) joined[i].assign(alphabet_ + 1, true);
    }
  }
  std::vector<WordEntry> words;
  words.reserve(pieces.size());
  Scratch scratch;
  scratch.Reserve(ScratchBytes(kMaxWordKey));
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceView piece = pieces[id];
    if (!IsInLattice(piece.type) || !piece.text.starts_with(marker)) continue;
    const std::string_view word = piece.text.substr(marker.size());
    if (word.empty() || word.size() > kMaxWordKey) continue;
    if (std::any_of(word.begin(), word.end(), [&](char c) { return blanks_.Has(static_cast<uint8_t>(c)); })) continue;
    const std::optional<uint16_t> reach = summed_ != nullptr
                                              ? ReachOfWord(word, static_cast<TokenId>(id), scratch)
                                              : ReachOfWordAlone(word, static_cast<TokenId>(id), scratch);
    if (!reach) continue;

    WordEntry entry;
    char padded[kMaxWordKey] = {};
    std::memcpy(padded, word.data(), word.size());
    entry.length = static_cast<uint8_t>(word.size());
    entry.key = LoadWordKey(padded, entry.length);
    entry.id = static_cast<TokenId>(id);
    entry.reach = *reach;
    uint32_t last = 0;
    ForEachCodePoint(word, [&](uint32_t c) { last = raw_symbols_[c]; });
    for (size_t i = 0; i < kPunctuations.size(); ++i) {
      if (!joined[i][last]) entry.punctuation = static_cast<uint8_t>(entry.punctuation | 1u << i);
    }
    words.push_back(entry);
  }
  words_ = BuildWordTable(words, page_size);
  word_table_ = words_.view();
}

// The reach of the word's entry, where the path makes just this piece of it;
// here each word's sum starts from zero.
std::optional<uint16_t> WordPath::ReachOfWordAlone(std::string_view word, TokenId id, Scratch& scratch) const {
  if (plain_->IsShielded(id)) return std::nullopt;
  // What a mark at the start means depends on what is before the word.
  if ((code_points_[DecodeUtf8(word).code_point] & CodePointTable::kMark) != 0) return std::nullopt;
  // Rules might delete one character and make it of another.
  bool as_it_is = true;
  ForEachCodePoint(word, [&](uint32_t c) { as_it_is &= (code_points_[c] & CodePointTable::kReplaced) == 0; });
  if (!as_it_is) return std::nullopt;
  TokenId ids[kMaxWordKey * 8];
  TokenSink sink(ids, nullptr, std::size(ids));
  ScratchCarver carver(scratch);
  const TextSegment segment{word, 0, static_cast<uint32_t>(word.size())};
  const StageResult result = Run(segment, MatchSpecial::kYes, carver, nullptr, sink);
  if (result != StageResult::kOk || sink.size() != 1 || ids[0] != id) return std::nullopt;
  return WordEntry().reach;
}

// The same where sums go on: how far the choices hold, also with a punctuation
// mark behind, to which there is but one way.
std::optional<uint16_t> WordPath::ReachOfWord(std::string_view word, TokenId id, Scratch& scratch) const {
  ScratchCarver carver(scratch);
  WordColumns columns;
  if (!TakeColumns(columns, carver, word.size())) return std::nullopt;
  Symbol* const symbols = columns.lattice.symbols;
  uint32_t count = 0;
  auto end = static_cast<uint32_t>(word.size());
  if (ReadSummed(word, 0, end, symbols, columns.positions, count) != Reading::kOneWord) return std::nullopt;
  symbols[0] = marker_;
  symbols[count] = kUnknownSymbol;
  const double reach = RunFarSymbolLattice(trie_.view(), columns.lattice, count, float_costs_, kHighestClass) -
                       float_costs_.highest - 1.0;
  const bool is_piece = trie_.view().units[columns.lattice.units[count]].id == id &&
                        (columns.lattice.keys[count] & kLengthMask) == count;
  if (!is_piece || reach < 0.0) return std::nullopt;
  return static_cast<uint16_t>(reach / WordEntry::kReachUnit);
}

}  // namespace trellis::internal
