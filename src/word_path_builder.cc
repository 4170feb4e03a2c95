// Loading of WordPath: the alphabet's numbers and the trie of symbols.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "src/highest.h"
#include "src/word_path_job.h"
#include "src/word_path_spec.h"
#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

// Sums of costs of a whole pre-token stay far below a LatticeKey's range.
constexpr double kHighestCost = double{1u << 30};
constexpr double kMostPieces = kMaxFastSymbols;

// Letters that are used together: by blocks of 128 code points, but the Han
// characters with kana, and the Hangul syllables, are one group each.
constexpr uint32_t kLetterGroups = (kMaxCodePoint >> 7) + 1;
uint32_t LetterGroup(uint32_t c) {
  if (c >= 0x3000 && c < 0xA000) return 0x3000 >> 7;
  if (c >= 0xAC00 && c < 0xD7B0) return 0xAC00 >> 7;
  return c >> 7;
}

PageSize PagesOf(const TokenizerOptions& options) {
  return options.huge_pages ? PageSize::kHuge : PageSize::kDefault;
}

}  // namespace

std::unique_ptr<WordPath> WordPath::Create(const TokenizerSpec& spec, const PieceList& pieces, const PlainPath& plain,
                                           const TokenizerOptions& options) {
  std::unique_ptr<WordPath> path(new WordPath(spec, plain));
  return path->Build(pieces, MetaspaceOf(spec).replacement, PagesOf(options)) ? std::move(path) : nullptr;
}

std::unique_ptr<WordPath> WordPath::Create(const TokenizerSpec&, const PieceList& pieces,
                                           const SentencePiecePipeline& plain, const TokenizerOptions& options) {
  std::unique_ptr<WordPath> path(new WordPath(plain));
  return path->Build(pieces, kMetaSpace, PagesOf(options)) ? std::move(path) : nullptr;
}

WordPath::WordPath(const TokenizerSpec& spec, const PlainPath& plain)
    : plain_(&plain), normalized_(&plain.normalized_matcher()) {
  precompiled_ = plain.normalizers().OnlyPrecompiled();
  lead_ = BlanksOf(spec) == BlanksBecome::kMarkers ? 1 : 0;
  split_at_marker_ = MetaspaceOf(spec).split;
}

WordPath::WordPath(const SentencePiecePipeline& plain) : summed_(&plain) {
  static const AddedTokenMatcher kNone({});  // the dialect has no such tokens
  normalized_ = &kNone;
}

bool WordPath::Build(const PieceList& pieces, std::string_view marker, PageSize page_size) {
  FindBlanks();
  if (!NumberAlphabet(pieces)) return false;
  if (!FindMarker(marker)) return false;
  if (!FindCosts(pieces)) return false;
  if (!BuildTrie(pieces, page_size)) return false;
  BuildCodePoints();
  FindMaxSymbols();
  FindPunctuation();
  BuildWords(pieces, marker, page_size);
  return true;
}

TokenId WordPath::UnkId() const { return summed_ == nullptr ? plain_->scores().unk_id : summed_->scores().unk_id; }

double WordPath::UnkScore() const {
  return summed_ == nullptr ? plain_->scores().unk_score : static_cast<double>(summed_->scores().unk_score);
}

bool WordPath::NumberAlphabet(const PieceList& pieces) {
  struct Letter {
    uint32_t code_point;
    double mass;
  };
  std::vector<Letter> letters;
  CodePointTable places;  // in `letters`, and 1
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceView piece = pieces[id];
    if (!IsInLattice(piece.type)) continue;
    const double probability = std::exp(piece.score) + 1e-12;  // unused letters still get a number
    ForEachCodePoint(piece.text, [&](uint32_t c) {
      uint32_t place = places[c];
      if (place == 0) {
        letters.push_back({c, 0.0});
        places.Set(c, place = static_cast<uint32_t>(letters.size()));
      }
      letters[place - 1].mass += piece.score == 0.0 ? 1e-12 : probability;
    });
  }
  if (letters.size() > kMaxAlphabet) return false;
  // A node's children lie at base + symbol: letters that follow one another in
  // words get neighbouring numbers, so that a text's walks share cache lines.
  std::vector<double> group_mass(kLetterGroups, 0.0);
  // In order of their code points, in which sums come out the same and ties stay.
  std::sort(letters.begin(), letters.end(), [](const Letter& a, const Letter& b) { return a.code_point < b.code_point; });
  for (const Letter& letter : letters) group_mass[LetterGroup(letter.code_point)] += letter.mass;
  std::stable_sort(letters.begin(), letters.end(), [&](const Letter& a, const Letter& b) {
    const uint32_t group_a = LetterGroup(a.code_point), group_b = LetterGroup(b.code_point);
    if (group_a == group_b) return a.mass > b.mass;
    return group_mass[group_a] != group_mass[group_b] ? group_mass[group_a] > group_mass[group_b] : group_a < group_b;
  });
  alphabet_ = static_cast<uint32_t>(letters.size());
  for (uint32_t i = 0; i < alphabet_; ++i) raw_symbols_.Set(letters[i].code_point, i + 1);
  return true;
}

// false: no piece has one, so that there is nothing to be fast about.
bool WordPath::FindMarker(std::string_view marker) {
  marker_ = static_cast<Symbol>(raw_symbols_[DecodeUtf8(marker).code_point]);
  return marker_ != kUnknownSymbol;
}

// Those of the pieces that the lattice takes: the list itself, or found in `list`.
std::span<const double> WordPath::LatticeScores(const PieceList& pieces, std::vector<double>& list) const {
  if (summed_ == nullptr && !pieces.scores().empty()) return pieces.scores();
  list.reserve(pieces.size());
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (IsInLattice(pieces.type(id))) list.push_back(ScoreOf(pieces.score(id)));
  }
  return list;
}

// The largest power of two in which all costs fit their field, and how far
// rounding may move the difference of two sums. false: a score is above zero, or so
// low that the reference's own sums have no number.
bool WordPath::FindCosts(const PieceList& pieces) {
  std::vector<double> list;
  const std::span<const double> scores = LatticeScores(pieces, list);
  if (HighestOf(scores, 0.0, [](double score) { return score; }) > 0.0) return false;
  const double highest = HighestOf(scores, -UnkScore(), [](double score) { return -score; });
  const double largest_sum = kMostPieces * highest;
  if (!std::isfinite(largest_sum)) return false;
  unit_ = std::exp2(std::floor(std::log2(kHighestCost / highest)));
  const auto off_by = [this](double score) { return std::abs(RoundedCost(score) + score * unit_); };
  const double most_off = HighestOf(scores, off_by(UnkScore()), off_by);
  // Both sums of a comparison may be off by a rounding a piece; the reference's
  // own additions round too, by at most half an ulp of the largest sum each.
  const double reference_off = kMostPieces * std::exp2(-53) * (largest_sum * unit_);
  const double off = 2.0 * (kMostPieces * most_off + reference_off);
  margin_ = off < 0.5 ? 0 : static_cast<int64_t>(std::ceil(off));
  float_costs_ = {unit_, most_off, highest};
  return true;
}

bool WordPath::BuildTrie(const PieceList& pieces, PageSize page_size) {
  std::vector<Symbol> text;
  // What keys view must not move; no piece has more symbols than bytes.
  size_t bytes = 0;
  for (size_t id = 0; id < pieces.size(); ++id) bytes += pieces.text(id).size();
  text.reserve(bytes);
  std::vector<CharTrieKey> keys;
  keys.reserve(pieces.size());
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceView piece = pieces[id];
    if (!IsInLattice(piece.type)) continue;
    const size_t begin = text.size();
    ForEachCodePoint(piece.text, [&](uint32_t c) { text.push_back(static_cast<Symbol>(raw_symbols_[c])); });
    const size_t size = text.size() - begin;
    if (size > kMaxPieceSymbols) return false;
    if (size == 0) continue;
    keys.push_back({{text.data() + begin, size}, static_cast<TokenId>(id), CostOf(ScoreOf(piece.score))});
  }

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
  auto trie = BuildCharTrie(keys, alphabet_, UnkId(), CostOf(UnkScore()), page_size);
  if (!trie) return false;
  trie_ = *std::move(trie);
  return true;
}

size_t WordPath::HugeBytes() const {
  return trie_.units.HugeBytes() + words_.entries.HugeBytes();
}

std::vector<TableFact> WordPath::Facts() const {
  return {{"symbols", std::to_string(alphabet_)},
          {"symbol trie bytes", std::to_string(trie_.bytes())},
          {"word table bytes", std::to_string(words_.bytes())},
          {"code point table bytes", std::to_string(code_points_.bytes() + raw_symbols_.bytes())},
          summed_ == nullptr ? TableFact{"cost margin", std::to_string(margin_)}
                             : TableFact{"costs per score", std::to_string(static_cast<int64_t>(unit_))}};
}

}  // namespace trellis::internal
