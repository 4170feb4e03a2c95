// Loading of WordPath: which specs allow it, and its tables.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>

#include "src/word_path_job.h"
#include "trellis/internal/text/unicode_tables.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

constexpr uint32_t kMaxAlphabet = 0xFFFE;
// Sums of costs of a whole pre-token stay far below a LatticeKey's range.
constexpr double kHighestCost = double{1u << 30};
constexpr std::string_view kPunctuations = ",.:;)?!\"";
static_assert(kPunctuations.size() == WordTable::kPunctuations);
constexpr double kMostPieces = kMaxFastSymbols;

const PrecompiledNormalizer* OnlyPrecompiled(const TokenizerSpec& spec) {
  return spec.normalizers.size() == 1 ? std::get_if<PrecompiledNormalizer>(&spec.normalizers[0]) : nullptr;
}

std::string Utf8(uint32_t code_point) {
  char bytes[kMaxUtf8Bytes];
  return std::string(bytes, EncodeUtf8(code_point, bytes));
}

bool IsMark(GraphemeBreak property) {
  return property == GraphemeBreak::kExtend || property == GraphemeBreak::kZwj ||
         property == GraphemeBreak::kSpacingMark;
}

// Letters that are used together: by blocks of 128 code points, but the Han
// characters with kana, and the Hangul syllables, are one group each.
constexpr uint32_t kLetterGroups = (kMaxCodePoint >> 7) + 1;
uint32_t LetterGroup(uint32_t c) {
  if (c >= 0x3000 && c < 0xA000) return 0x3000 >> 7;
  if (c >= 0xAC00 && c < 0xD7B0) return 0xAC00 >> 7;
  return c >> 7;
}

// Only White_Space, and some.
bool IsBlank(std::string_view text) { return !text.empty() && LeadingWhitespace(text) == text.size(); }

template <typename F>
void ForEachScalarValue(F&& f) {
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (c < 0xD800 || c > 0xDFFF) f(c);
  }
}

template <typename F>
void ForEachCodePoint(std::string_view text, F&& f) {
  while (!text.empty()) {
    const Decoded d = DecodeUtf8(text);
    f(d.code_point);
    text.remove_prefix(d.length);
  }
}

}  // namespace

std::optional<std::string> WordPath::FindObstacle(const TokenizerSpec& spec) {
  if (spec.dialect != Dialect::kHuggingFace) return "the SentencePiece dialect sums over the whole text";
  if (std::any_of(spec.added_tokens.begin(), spec.added_tokens.end(), [](const AddedToken& t) { return t.normalized; })) {
    return "an added token is matched in normalized text";
  }
  if (!spec.normalizers.empty() && OnlyPrecompiled(spec) == nullptr) return "normalizers other than Precompiled";
  if (spec.pre_tokenizers.size() != 2 || !std::holds_alternative<WhitespaceSplitPreTokenizer>(spec.pre_tokenizers[0]) ||
      !std::holds_alternative<MetaspacePreTokenizer>(spec.pre_tokenizers[1]) ||
      std::get<MetaspacePreTokenizer>(spec.pre_tokenizers[1]).prepend_scheme != PrependScheme::kAlways) {
    return "pre-tokenizers other than WhitespaceSplit and Metaspace, always";
  }
  if (!spec.model.unk_id) return "no unknown piece";
  size_t unk_characters = 0;
  ForEachCodePoint(spec.model.pieces[static_cast<size_t>(*spec.model.unk_id)].text, [&](uint32_t) { ++unk_characters; });
  if (unk_characters == 1) return "the unknown piece is a character";
  for (const Piece& piece : spec.model.pieces) {
    if (piece.score > 0.0) return "a score above zero";
  }
  if (const PrecompiledNormalizer* precompiled = OnlyPrecompiled(spec)) {
    const CharsMap map(precompiled->charsmap);
    if (map.StartsKey(" ")) return "a normalizer rule begins with a blank";
    const auto crlf = map.Shortest("\r\n");
    if (crlf && !IsBlank(crlf->replacement)) return "a normalizer rule makes text of a line end";
    std::optional<std::string> obstacle;
    ForEachScalarValue([&](uint32_t c) {
      if (GraphemeBreakOf(c) == GraphemeBreak::kPrepend && map.StartsKey(Utf8(c))) {
        obstacle = "a normalizer rule begins with a prepended mark";
      }
    });
    if (obstacle) return obstacle;
  }
  return std::nullopt;
}

WordPath::WordPath(const TokenizerSpec& spec, const PlainPath& plain) : plain_(plain) {
  if (const PrecompiledNormalizer* precompiled = OnlyPrecompiled(spec)) precompiled_.emplace(precompiled->charsmap);
  for (uint8_t byte = 0; byte < 0x80; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const auto match = precompiled_ ? precompiled_->map().Shortest(one) : std::nullopt;
    if (IsBlank(match ? match->replacement : std::string_view(one))) blanks_.Add(byte);
  }
  split_at_marker_ = std::get<MetaspacePreTokenizer>(spec.pre_tokenizers[1]).split;
}

std::unique_ptr<WordPath> WordPath::Create(const TokenizerSpec& spec, const PlainPath& plain,
                                           const TokenizerOptions& options) {
  const PageSize pages = options.huge_pages ? PageSize::kHuge : PageSize::kDefault;
  std::unique_ptr<WordPath> path(new WordPath(spec, plain));
  if (!path->BuildSymbols(spec, pages)) return nullptr;
  path->BuildCodePoints();
  path->BuildWords(spec, pages);
  return path;
}

// Numbers the alphabet and builds the trie.
bool WordPath::BuildSymbols(const TokenizerSpec& spec, PageSize pages) {
  const auto& pieces = spec.model.pieces;
  std::vector<double> mass(kMaxCodePoint + 1, 0.0);
  size_t symbols = 0;
  for (const Piece& piece : pieces) {
    const double probability = std::exp(piece.score) + 1e-12;  // unused letters still get a number
    ForEachCodePoint(piece.text, [&](uint32_t c) {
      mass[c] += piece.score == 0.0 ? 1e-12 : probability;
      ++symbols;
    });
  }
  std::vector<uint32_t> letters;
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (mass[c] > 0.0) letters.push_back(c);
  }
  if (letters.size() > kMaxAlphabet) return false;
  // A node's children lie at base + symbol: letters that follow one another in
  // words get neighbouring numbers, so that a text's walks share cache lines.
  std::vector<double> group_mass(kLetterGroups, 0.0);
  for (const uint32_t c : letters) group_mass[LetterGroup(c)] += mass[c];
  std::stable_sort(letters.begin(), letters.end(), [&](uint32_t a, uint32_t b) {
    const uint32_t group_a = LetterGroup(a), group_b = LetterGroup(b);
    if (group_a == group_b) return mass[a] > mass[b];
    return group_mass[group_a] != group_mass[group_b] ? group_mass[group_a] > group_mass[group_b] : group_a < group_b;
  });
  alphabet_ = static_cast<uint32_t>(letters.size());
  for (uint32_t i = 0; i < alphabet_; ++i) raw_symbols_.Set(letters[i], i + 1);
  const auto& metaspace = std::get<MetaspacePreTokenizer>(spec.pre_tokenizers[1]);
  marker_ = static_cast<Symbol>(raw_symbols_[DecodeUtf8(metaspace.replacement).code_point]);
  if (marker_ == kUnknownSymbol) return false;  // no piece has one: nothing to be fast about

  // The largest power of two in which all costs fit their field, and how far
  // rounding may move the difference of two sums.
  double highest = 0.0;
  for (const Piece& piece : pieces) highest = std::max(highest, -piece.score);
  highest = std::max(highest, -plain_.scores().unk_score);
  unit_ = std::exp2(std::floor(std::log2(kHighestCost / highest)));
  double most_off = 0.0;
  const auto cost_of = [&](double score) {
    const double exact = -score * unit_;
    const double rounded = std::nearbyint(exact);
    most_off = std::max(most_off, std::abs(rounded - exact));
    return static_cast<uint32_t>(rounded);
  };
  std::vector<Symbol> text;
  text.reserve(symbols);
  std::vector<CharTrieKey> keys;
  keys.reserve(pieces.size());
  for (size_t id = 0; id < pieces.size(); ++id) {
    const size_t begin = text.size();
    ForEachCodePoint(pieces[id].text, [&](uint32_t c) { text.push_back(static_cast<Symbol>(raw_symbols_[c])); });
    const size_t size = text.size() - begin;
    if (size > kMaxPieceSymbols) return false;
    if (size == 0) continue;
    keys.push_back({{text.data() + begin, size}, static_cast<TokenId>(id), cost_of(pieces[id].score)});
  }
  const uint32_t unk_cost = cost_of(plain_.scores().unk_score);
  // Both sums of a comparison may be off by a rounding a piece; the reference's
  // own additions round too, by at most half an ulp of the largest sum each.
  const double largest_sum = kMostPieces * highest;
  const double reference_off = kMostPieces * largest_sum * std::exp2(-53) * unit_;
  const double off = 2.0 * (kMostPieces * most_off + reference_off);
  margin_ = off < 0.5 ? 0 : static_cast<int64_t>(std::ceil(off));

  // Of equal pieces the last counts.
  std::stable_sort(keys.begin(), keys.end(), [](const CharTrieKey& a, const CharTrieKey& b) {
    return std::lexicographical_compare(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end());
  });
  size_t out = 0;
  for (const CharTrieKey& key : keys) {
    if (out > 0 && std::equal(key.symbols.begin(), key.symbols.end(), keys[out - 1].symbols.begin(),
                              keys[out - 1].symbols.end())) {
      keys[out - 1] = key;
    } else {
      keys[out++] = key;
    }
  }
  keys.resize(out);
  auto trie = BuildCharTrie(keys, alphabet_, plain_.scores().unk_id, unk_cost, pages);
  if (!trie) return false;
  trie_ = *std::move(trie);
  return true;
}

void WordPath::BuildCodePoints() {
  // A replacement's symbols, shared by equal ones in a row.
  ForEachScalarValue([&](uint32_t c) {
    const GraphemeBreak property = GraphemeBreakOf(c);
    uint32_t entry = raw_symbols_[c];
    char bytes[kMaxUtf8Bytes];
    const std::string_view one(bytes, EncodeUtf8(c, bytes));
    const auto match = precompiled_ ? precompiled_->map().Shortest(one) : std::nullopt;
    if (match) {
      Replacement replacement{static_cast<uint32_t>(replacement_symbols_.size()), 0};
      ForEachCodePoint(match->replacement, [&](uint32_t d) {
        replacement_symbols_.push_back(IsWhitespace(d) ? kBlankSymbol : static_cast<Symbol>(raw_symbols_[d]));
        ++replacement.count;
      });
      entry = CodePointTable::kReplaced | static_cast<uint32_t>(replacements_.size());
      // More rules than a number can say: those characters take the long way.
      if (replacements_.size() > CodePointTable::kNumberMask) entry = CodePointTable::kStrange;
      replacements_.push_back(replacement);
      max_symbols_per_byte_ = std::max<size_t>(max_symbols_per_byte_, (replacement.count + one.size() - 1) / one.size());
      if (c == kReplacementCharacter) max_symbols_per_byte_ = std::max<size_t>(max_symbols_per_byte_, replacement.count);
    } else if (IsWhitespace(c)) {
      entry = CodePointTable::kBlank;
    }
    if (entry == marker_) entry |= CodePointTable::kMarker;
    if (IsMark(property)) entry |= CodePointTable::kMark;
    if (entry != 0) code_points_.Set(c, entry);
  });
  if (!precompiled_) return;
  // Marks that end a short rule of several characters, wherever in it.
  constexpr size_t kShortCluster = 5;
  precompiled_->map().ForEach(kShortCluster, [&](std::string_view key, std::string_view) {
    bool first = true;
    ForEachCodePoint(key, [&](uint32_t c) {
      if (!first && (code_points_[c] & CodePointTable::kMark) != 0) code_points_.AddFlags(c, CodePointTable::kRuleMark);
      first = false;
    });
  });
}

// Puts every word that the lattice makes one piece of into the table.
void WordPath::BuildWords(const TokenizerSpec& spec, PageSize pages) {
  const std::string& marker = std::get<MetaspacePreTokenizer>(spec.pre_tokenizers[1]).replacement;
  const auto& pieces = spec.model.pieces;

  // Which characters stand before which punctuation inside a piece: between
  // others, no piece reaches across.
  std::array<std::vector<bool>, WordTable::kPunctuations> joined;
  joined.fill(std::vector<bool>(alphabet_ + 1, false));
  for (const Piece& piece : pieces) {
    uint32_t previous = 0;
    ForEachCodePoint(piece.text, [&](uint32_t c) {
      const size_t index = c < 0x80 ? kPunctuations.find(static_cast<char>(c)) : std::string_view::npos;
      if (index != std::string_view::npos) joined[index][raw_symbols_[previous] & CodePointTable::kNumberMask] = true;
      previous = c;
    });
  }
  const CharTrie trie = trie_.view();
  for (size_t i = 0; i < kPunctuations.size(); ++i) {
    const auto byte = static_cast<uint8_t>(kPunctuations[i]);
    const uint32_t entry = code_points_[byte];
    // Alone it must be itself, a character, and a piece.
    if (blanks_.Has(byte) || (entry & CodePointTable::kFlags) != 0 || entry == kUnknownSymbol ||
        trie.units[entry].id == plain_.scores().unk_id) {
      continue;
    }
    punctuation_[byte] = static_cast<uint8_t>(i + 1);
    punctuation_ids_[i + 1] = trie.units[entry].id;
  }

  std::vector<WordEntry> words;
  words.reserve(pieces.size());
  Scratch scratch;
  scratch.Reserve(ScratchBytes(kMaxWordKey));
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (!pieces[id].text.starts_with(marker)) continue;
    const std::string_view word = std::string_view(pieces[id].text).substr(marker.size());
    if (word.empty() || word.size() > kMaxWordKey || plain_.IsShielded(static_cast<TokenId>(id))) continue;
    if (std::any_of(word.begin(), word.end(), [&](char c) { return blanks_.Has(static_cast<uint8_t>(c)); })) continue;
    // What a mark at the start means depends on what is before the word.
    if ((code_points_[DecodeUtf8(word).code_point] & CodePointTable::kMark) != 0) continue;
    TokenId ids[kMaxWordKey * 8];
    TokenSink sink(ids, nullptr, std::size(ids));
    ScratchCarver carver(scratch);
    const TextSegment segment{word, 0, static_cast<uint32_t>(word.size())};
    const StageResult result = Run(segment, MatchSpecial::kYes, carver, nullptr, sink);
    if (result != StageResult::kOk || sink.size() != 1 || ids[0] != static_cast<TokenId>(id)) continue;

    WordEntry entry;
    char padded[kMaxWordKey] = {};
    std::memcpy(padded, word.data(), word.size());
    entry.length = static_cast<uint8_t>(word.size());
    entry.key = LoadWordKey(padded, entry.length);
    entry.id = static_cast<TokenId>(id);
    uint32_t last = 0;
    ForEachCodePoint(word, [&](uint32_t c) { last = raw_symbols_[c]; });
    for (size_t i = 0; i < kPunctuations.size(); ++i) {
      if (!joined[i][last]) entry.punctuation = static_cast<uint8_t>(entry.punctuation | 1u << i);
    }
    words.push_back(entry);
  }
  words_ = BuildWordTable(words, pages);
  word_table_ = words_.view();
}

size_t WordPath::HugeBytes() const {
  return trie_.units.memory().HugeBytes() + words_.entries.memory().HugeBytes();
}

std::vector<TableFact> WordPath::Facts() const {
  return {{"symbols", std::to_string(alphabet_)},
          {"symbol trie bytes", std::to_string(trie_.bytes())},
          {"word table bytes", std::to_string(words_.bytes())},
          {"code point table bytes", std::to_string(code_points_.bytes() + raw_symbols_.bytes())},
          {"cost margin", std::to_string(margin_)}};
}

}  // namespace trellis::internal
