// WordPath where tokens are added with normalization (what add_tokens does by
// default): they are looked for in the text once it is normalized, and cut words.
//
// A token without blanks lies within one word, and what is left of that word goes
// on as before, so such words alone take the plain path. All others are what they
// are without added tokens.
#include "src/word_path_job.h"
#include "src/word_path_spec.h"
#include "trellis/internal/text/unicode_tables.h"

namespace trellis::internal {

std::optional<std::string> WordPath::FindAddedTokenObstacle(const TokenizerSpec& spec,
                                                            const AddedTokenMatcher& normalized) {
  if (BlanksOf(spec) == BlanksBecome::kMarkers) return "an added token is matched in normalized text with its blanks";
  for (const AddedTokenRule& rule : normalized.rules()) {
    if (rule.special) return "a special token is matched in normalized text";
    if (rule.lstrip || rule.rstrip) return "an added token that is matched in normalized text takes blanks";
    bool has_blank = false;
    ForEachCodePoint(rule.pattern, [&](uint32_t c) { has_blank |= IsWhitespace(c); });
    if (has_blank) return "an added token that is matched in normalized text has a blank";
  }
  return std::nullopt;
}

// false: there is none in the word for sure.
bool WordPath::MayHoldAddedToken(std::string_view word) const {
  for (size_t at = 0; at < word.size();) {
    const Decoded d = DecodeUtf8(word.substr(at));
    // Not what it will be, or not alone.
    if (!d.well_formed || (code_points_[d.code_point] & CodePointTable::kFlags) != 0) return true;
    at += d.length;
  }
  AddedTokenMatcher::Pass pass(*normalized_, word, MatchSpecial::kYes);
  AddedTokenMatch match;
  return pass.Next(match);
}

WordPath::Held WordPath::RunAddedTokens(Job& job, Words word) const {
  const std::optional<AlignedView> text = NormalizeStrange(job, word.begin, word.end);
  if (!text) return Held::kNoRoom;
  AddedTokenMatcher::Pass pass(*normalized_, text->bytes, MatchSpecial::kYes);
  AddedTokenMatch match;
  if (!pass.Next(match)) return Held::kNone;
  // Pieces that are left may be special, and then differ under the shield.
  if (StartsWithMark(job.source(), word) || job.special == MatchSpecial::kNo) job.memorable = false;
  return plain_->RunNormalized(job.segment, *text, job.special, job.carver, job.sink) == StageResult::kOk
             ? Held::kDone
             : Held::kNoRoom;
}

}  // namespace trellis::internal
