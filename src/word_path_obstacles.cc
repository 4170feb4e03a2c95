// Which specs WordPath can take: properties of their parts, never a model's name.
#include <algorithm>
#include <limits>
#include <string>

#include "src/word_path.h"
#include "src/word_path_spec.h"
#include "trellis/internal/text/charsmap.h"
#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/unicode_tables.h"

namespace trellis::internal {
namespace {

// WhitespaceSplit and Metaspace, or Metaspace alone that cuts at each blank.
bool SuitsWords(const std::vector<PreTokenizer>& steps) {
  if (steps.empty() || steps.size() > 2) return false;
  if (steps.size() == 2 && !std::holds_alternative<WhitespaceSplitPreTokenizer>(steps.front())) return false;
  const auto* metaspace = std::get_if<MetaspacePreTokenizer>(&steps.back());
  return metaspace != nullptr && metaspace->prepend_scheme == PrependScheme::kAlways &&
         (steps.size() == 2 || metaspace->split);
}

// Rules under which a word's bytes decide what becomes of it.
std::optional<std::string> FindRuleObstacle(const CharsMap& map, BlanksBecome blanks_become) {
  if (map.StartsKey(" ")) return "a normalizer rule begins with a blank";
  for (char c = '!'; c < 0x7F; ++c) {
    // It could join a mark behind it into one cluster.
    const auto match = map.Shortest({&c, 1});
    if (match && IsBlank(match->replacement)) return "a normalizer rule makes a blank of a visible character";
  }
  // A line end is one cluster.
  if (const auto crlf = map.Shortest("\r\n")) {
    if (!IsBlank(crlf->replacement)) return "a normalizer rule makes text of a line end";
    const auto lf = map.Shortest("\n");
    if (blanks_become == BlanksBecome::kMarkers &&
        (crlf->length != 1 || crlf->replacement != " " || !lf || lf->replacement != " ")) {
      return "a normalizer rule makes other than blanks of a line end";
    }
  }
  const auto is_prepend = [](GraphemeBreak property) { return property == GraphemeBreak::kPrepend; };
  const std::vector<bool> has_prepends = BlocksWith(is_prepend);
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (!has_prepends[c / kUnicodeBlock]) {
      c |= kUnicodeBlock - 1;  // to the block's end
    } else if (is_prepend(GraphemeBreakOf(c)) && map.StartsKey(Utf8(c))) {
      return "a normalizer rule begins with a prepended mark";
    }
  }
  return std::nullopt;
}

// The same where rules are keyed by bytes (word_path_sums.cc).
std::optional<std::string> FindKeyObstacle(const CharsMap& map) {
  std::optional<std::string> obstacle;
  map.ForEach([&](std::string_view key, std::string_view replacement) {
    if (!IsWellFormed(key)) obstacle = "a normalizer rule is keyed by malformed text";
    if (key.find(' ') != std::string_view::npos && (key != " " || replacement != " ")) {
      obstacle = "a normalizer rule has a blank in its key";
    }
    if (replacement.find(kMetaSpace) != std::string_view::npos) obstacle = "a normalizer rule makes a marker";
    if (replacement.ends_with(' ') && replacement != " ") obstacle = "a normalizer rule makes text before a blank";
  });
  return obstacle;
}

std::optional<std::string> FindSentencePieceField(const TokenizerSpec& spec) {
  const auto& normalizer = std::get<SentencePieceNormalizer>(spec.normalizers.front());
  if (!normalizer.add_dummy_prefix || !normalizer.remove_extra_whitespaces || !normalizer.escape_whitespaces ||
      normalizer.treat_whitespace_as_suffix) {
    return "blanks are not what begins a word";
  }
  if (spec.model.byte_fallback) return "unknown characters are spelled in bytes";
  if (!spec.model.unk_id) return "no unknown piece";
  return std::nullopt;
}

std::optional<std::string> FindSentencePieceObstacle(const TokenizerSpec& spec, const PieceList& pieces) {
  // Roundings of costs must be small against those of floats.
  constexpr double kLowest = -1e5;
  bool has_marker = false;
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceView piece = pieces[id];
    if (piece.type == PieceType::kUserDefined) return "a user-defined piece is matched before rules";
    if (piece.type != PieceType::kNormal) continue;
    if (piece.score > 0.0) return "a score above zero";
    if (piece.score < kLowest) return "a score far below zero";
    if (!IsWellFormed(piece.text)) return "a piece is malformed";
    if (piece.text.find(kMetaSpace, 1) != std::string_view::npos) return "a piece has a marker behind its first character";
    has_marker |= piece.text == kMetaSpace;
  }
  if (!has_marker) return "the marker is no piece";
  const auto& normalizer = std::get<SentencePieceNormalizer>(spec.normalizers.front());
  return normalizer.charsmap.empty() ? std::nullopt : FindKeyObstacle(CharsMap(normalizer.charsmap));
}

}  // namespace

std::optional<std::string> WordPath::FindFieldObstacle(const TokenizerSpec& spec, const AddedTokenMatcher& normalized) {
  if (spec.dialect == Dialect::kSentencePiece) return FindSentencePieceField(spec);
  if (!spec.normalizers.empty() && OnlyPrecompiled(spec) == nullptr) return "normalizers other than Precompiled";
  if (!SuitsWords(spec.pre_tokenizers)) {
    return "pre-tokenizers other than WhitespaceSplit and Metaspace, always, or Metaspace alone, always and split";
  }
  if (!normalized.empty()) {
    if (auto obstacle = FindAddedTokenObstacle(spec, normalized)) return obstacle;
  }
  if (!spec.model.unk_id) return "no unknown piece";
  if (spec.model.byte_fallback) return "unknown characters are spelled in bytes";
  return std::nullopt;
}

std::optional<std::string> WordPath::FindObstacle(const TokenizerSpec& spec, const PieceList& pieces,
                                                  const AddedTokenMatcher& normalized) {
  if (auto obstacle = FindFieldObstacle(spec, normalized)) return obstacle;
  if (spec.dialect == Dialect::kSentencePiece) return FindSentencePieceObstacle(spec, pieces);
  // Of the reference's doubles, with room for the longest pre-token that goes the fast way.
  constexpr double kLowestScore = -std::numeric_limits<double>::max() / (1 << 16);
  size_t unk_characters = 0;
  ForEachCodePoint(pieces.text(static_cast<size_t>(*spec.model.unk_id)), [&](uint32_t) { ++unk_characters; });
  if (unk_characters == 1) return "the unknown piece is a character";
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (pieces.score(id) > 0.0) return "a score above zero";
    if (pieces.score(id) < kLowestScore) return "a score so low that sums have no number";
  }
  if (const PrecompiledNormalizer* precompiled = OnlyPrecompiled(spec)) {
    return FindRuleObstacle(CharsMap(precompiled->charsmap), BlanksOf(spec));
  }
  return std::nullopt;
}

}  // namespace trellis::internal
