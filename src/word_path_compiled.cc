// WordPath to a compiled file and back.
//
// A file's tables are believed only as far as they have been looked at here, in
// one pass over each:
//   symbols     are of the alphabet, so that base + symbol is inside the trie
//   replacements are there, and no longer than what the rules make of a byte
//   the trie    no step leaves it; only unit 0 has symbol 0, so that walks end
//               where texts do (and the lattice ends them after kMaxPieceSymbols)
//   ids         are pieces, and none that must not come out of text
// What follows from other tables (blanks, costs, marker, punctuation) is found
// again from them, as when they are built.
#include <algorithm>
#include <string>
#include <utility>

#include "src/word_path_job.h"
#include "src/word_path_spec.h"
#include "trellis/internal/text/meta_space.h"

namespace trellis::internal {
namespace {

// As CompiledFile::Elements, into `elements`.
template <typename T, typename Right>
absl::Status Take(const CompiledFile& file, SectionId id, const Right& right, const std::string& expected,
                  std::span<const T>& elements) {
  const auto found = file.Elements<T>(id, right, expected);
  if (found.ok()) elements = *found;
  return found.status();
}
template <typename T>
absl::Status Take(const CompiledFile& file, SectionId id, std::span<const T>& elements) {
  return Take(
      file, id, [](const T&) { return true; }, "", elements);
}

// Entries each of which `right` is true of.
template <typename Right>
absl::StatusOr<CodePointTable> TakeCodePoints(const CompiledFile& file, SectionId pages_id,
                                              SectionId entries_id, const Right& right,
                                              const std::string& expected) {
  std::span<const uint16_t> pages;
  std::span<const uint32_t> entries;
  if (absl::Status s = Take(file, pages_id, pages); !s.ok()) return s;
  if (absl::Status s = Take(file, entries_id, right, expected, entries); !s.ok()) return s;
  std::optional<CodePointTable> table = CodePointTable::Of(pages, entries);
  if (table) return *std::move(table);
  return CompiledFile::Wrong(pages_id,
                             "no table with the entries that there are, expected a page of them for each " +
                                 std::to_string(pages.size()) + " and an empty first one");
}

}  // namespace

void WordPath::Save(CompiledWriter& writer) const {
  writer.Add(SectionId::kAlphabet, std::span(&alphabet_, 1));
  writer.Add(SectionId::kCodePointPages, code_points_.pages());
  writer.Add(SectionId::kCodePoints, code_points_.entries());
  writer.Add(SectionId::kRawSymbolPages, raw_symbols_.pages());
  writer.Add(SectionId::kRawSymbols, raw_symbols_.entries());
  writer.Add(SectionId::kReplacements, std::span<const Replacement>(replacements_));
  writer.Add(SectionId::kReplacementSymbols, std::span<const Symbol>(replacement_symbols_));
  writer.Add(SectionId::kSymbolTrie, trie_.units.span());
  writer.Add(SectionId::kWords, words_.entries.span());
  writer.Add(SectionId::kWordPilots, words_.pilots.span());
}

absl::StatusOr<std::unique_ptr<WordPath>> WordPath::Open(const TokenizerSpec& spec, const PieceList& pieces,
                                                         const PlainPath& plain, const CompiledFile& file) {
  std::unique_ptr<WordPath> path(new WordPath(spec, plain));
  if (absl::Status s = path->OpenTables(pieces, MetaspaceOf(spec).replacement, file); !s.ok()) return s;
  return path;
}

absl::StatusOr<std::unique_ptr<WordPath>> WordPath::Open(const PieceList& pieces,
                                                         const SentencePiecePipeline& plain,
                                                         const CompiledFile& file) {
  std::unique_ptr<WordPath> path(new WordPath(plain));
  if (absl::Status s = path->OpenTables(pieces, kMetaSpace, file); !s.ok()) return s;
  return path;
}

absl::Status WordPath::OpenTables(const PieceList& pieces, std::string_view marker,
                                  const CompiledFile& file) {
  FindBlanks();
  if (absl::Status s = OpenCodePoints(file); !s.ok()) return s;
  if (!FindMarker(marker))
    return CompiledFile::Wrong(SectionId::kRawSymbols, "no marker, expected its symbol");
  if (!FindCosts(pieces))
    return CompiledFile::Wrong(SectionId::kPieceScores,
                               "one above zero or without a sum, expected none where there are words");
  if (absl::Status s = OpenTrie(pieces, file); !s.ok()) return s;
  // The bounds of scratch and tokens come from the rules themselves.
  size_t of_rules = 1;
  if (precompiled_ != nullptr) of_rules = std::max(of_rules, precompiled_->MaxCharacters(1, 1));
  if (summed_ != nullptr) of_rules = std::max(of_rules, summed_->rewriter().max_characters());
  FindMaxSymbols();
  if (max_symbols_per_byte_ > of_rules) {
    return CompiledFile::Wrong(SectionId::kReplacements,
                               std::to_string(max_symbols_per_byte_) +
                                   " symbols for a byte, expected at most the rules' " +
                                   std::to_string(of_rules));
  }
  FindPunctuation();
  return OpenWords(pieces, file);
}

absl::Status WordPath::OpenCodePoints(const CompiledFile& file) {
  std::span<const uint32_t> alphabet;
  const auto fits = [](uint32_t size) { return size > 0 && size <= kMaxAlphabet; };
  if (absl::Status s =
          Take(file, SectionId::kAlphabet, fits, "1 to " + std::to_string(kMaxAlphabet), alphabet);
      !s.ok())
    return s;
  if (alphabet.size() != 1)
    return CompiledFile::Wrong(SectionId::kAlphabet, "several numbers or none, expected one");
  alphabet_ = alphabet[0];
  const uint32_t most = alphabet_;
  const std::string symbol = "a symbol of at most " + std::to_string(most);

  std::span<const Symbol> symbols;
  const auto of_alphabet = [most](Symbol s) { return s <= most || s == kBlankSymbol; };
  if (absl::Status s =
          Take(file, SectionId::kReplacementSymbols, of_alphabet, symbol + ", or a blank", symbols);
      !s.ok())
    return s;
  const size_t size = symbols.size();
  std::span<const Replacement> replacements;
  const auto inside = [size](const Replacement& r) { return r.begin <= size && r.count <= size - r.begin; };
  const std::string some = "some of the " + std::to_string(size) + " symbols of replacements";
  if (absl::Status s = Take(file, SectionId::kReplacements, inside, some, replacements); !s.ok()) return s;
  replacement_symbols_.assign(symbols.begin(), symbols.end());
  replacements_.assign(replacements.begin(), replacements.end());

  auto raw = TakeCodePoints(
      file, SectionId::kRawSymbolPages, SectionId::kRawSymbols,
      [most](uint32_t entry) { return entry <= most; }, symbol);
  if (!raw.ok()) return raw.status();
  raw_symbols_ = *std::move(raw);
  const size_t count = replacements.size();
  const auto sound = [most, count](uint32_t entry) {
    const uint32_t number = entry & CodePointTable::kNumberMask;
    return (entry & CodePointTable::kReplaced) != 0 ? number < count : number <= most;
  };
  auto entries = TakeCodePoints(file, SectionId::kCodePointPages, SectionId::kCodePoints, sound,
                                symbol + ", or one of " + std::to_string(count) + " replacements");
  if (!entries.ok()) return entries.status();
  code_points_ = *std::move(entries);
  return absl::OkStatus();
}

absl::Status WordPath::OpenTrie(const PieceList& pieces, const CompiledFile& file) {
  const size_t size = file.Bytes(SectionId::kSymbolTrie) / sizeof(CharUnit);
  if (size < size_t{alphabet_} + 2 || size > UINT32_MAX) {
    return CompiledFile::Wrong(SectionId::kSymbolTrie,
                               std::to_string(size) + " units, expected one for each symbol");
  }
  const auto most = static_cast<uint32_t>(size - 1 - alphabet_);
  const auto ids = static_cast<uint32_t>(pieces.size());
  const auto* const root = reinterpret_cast<const CharUnit*>(file.Begin(SectionId::kSymbolTrie));
  const auto stays_inside = [=](const CharUnit& unit) {
    return (unit.base - 1U < most) & (static_cast<uint32_t>(unit.id) < ids) &
           ((unit.check != kUnknownSymbol) | (&unit == root));
  };
  const TokenId unk = UnkId();
  // Without branches: which units are of the unknown piece is not foreseen.
  const auto comes_out = [&](const CharUnit& unit) {
    const auto id = static_cast<uint32_t>(unit.id);
    const PieceType type = pieces.type(id < ids ? id : 0);
    return stays_inside(unit) & ((unit.id == unk) | IsInLattice(type));
  };
  const std::string expected = "a base of 1 to " + std::to_string(most) +
                               ", the id of a piece to match below " + std::to_string(ids) +
                               " and a symbol that leads here";
  std::span<const CharUnit> units;
  const absl::Status status = summed_ == nullptr
                                  ? Take(file, SectionId::kSymbolTrie, stays_inside, expected, units)
                                  : Take(file, SectionId::kSymbolTrie, comes_out, expected, units);
  trie_.units = Table<CharUnit>(units);
  return status;
}

absl::Status WordPath::OpenWords(const PieceList& pieces, const CompiledFile& file) {
  const auto ids = static_cast<uint32_t>(pieces.size());
  const auto comes_out = [&](const WordEntry& entry) {
    if (static_cast<uint32_t>(entry.id) >= ids) return false;
    if (entry.length == 0) return true;
    return summed_ != nullptr ? IsInLattice(pieces.type(static_cast<size_t>(entry.id)))
                              : !plain_->IsShielded(entry.id);
  };
  std::span<const WordEntry> entries;
  std::span<const uint16_t> pilots;
  const std::string expected = "an id below " + std::to_string(ids) + " that may come out of text";
  if (absl::Status s = Take(file, SectionId::kWords, comes_out, expected, entries); !s.ok()) return s;
  if (absl::Status s = Take(file, SectionId::kWordPilots, pilots); !s.ok()) return s;
  if (entries.empty() != pilots.empty() || entries.size() > UINT32_MAX || pilots.size() > UINT32_MAX) {
    return CompiledFile::Wrong(SectionId::kWordPilots, std::to_string(pilots.size()) + " pilots of " +
                                                           std::to_string(entries.size()) +
                                                           " slots, expected some of some");
  }
  words_.entries = Table<WordEntry>(entries);
  words_.pilots = Table<uint16_t>(pilots);
  word_table_ = words_.view();
  return absl::OkStatus();
}

}  // namespace trellis::internal
