// Loading of WordPath: what is done with each character.
#include <algorithm>
#include <string>

#include "src/word_path_job.h"
#include "src/word_path_spec.h"
#include "trellis/internal/text/unicode_tables.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

bool IsMark(GraphemeBreak property) {
  return property == GraphemeBreak::kExtend || property == GraphemeBreak::kZwj ||
         property == GraphemeBreak::kSpacingMark;
}

// Code points whose UTF-8 differs in the last byte only.
constexpr uint32_t kSiblings = 64;
// White_Space ends with U+3000.
constexpr uint32_t kBlanksEnd = 0x3001;

}  // namespace

// ASCII bytes that end a word wherever they stand.
void WordPath::FindBlanks() {
  for (uint8_t byte = 0; byte < 0x80; ++byte) {
    const char c = static_cast<char>(byte);
    const std::string_view normal = Normal({&c, 1}).value_or(std::string_view(&c, 1));
    if (BlanksAreExact() ? normal == " " : IsBlank(normal)) blanks_.Add(byte);
  }
  if (summed_ == nullptr) {
    line_end_is_one_ = precompiled_ && precompiled_->map().Shortest("\r\n");
    return;
  }
  // Here a longer key may begin or go on with such a byte.
  for (uint8_t byte = 0; byte < 0x80; ++byte) {
    if (summed_->rewriter().charsmap().IsInLongerKey(byte)) blanks_.Remove(byte);
  }
}

// What the rules make of one character; nullopt: they leave it.
std::optional<std::string_view> WordPath::Normal(std::string_view character) const {
  std::optional<CharsMap::Match> match;
  if (summed_ != nullptr) {
    match = summed_->rewriter().charsmap().Longest(character);
  } else if (precompiled_) {
    match = precompiled_->map().Shortest(character);
  }
  if (!match) return std::nullopt;
  return match->replacement;
}

// Whether the rules touch any of the characters that begin with these bytes.
bool WordPath::HasRuleFor(std::string_view bytes) const {
  if (summed_ == nullptr && precompiled_ == nullptr) return false;
  const CharsMap& map = summed_ != nullptr ? summed_->rewriter().charsmap() : precompiled_->map();
  return map.StartsKey(bytes) || map.Shortest(bytes).has_value();
}

// Calls f for all of which anything is to be said and for their siblings: of most of Unicode there is nothing to say,
// and a small model need not pay for it.
template <typename F>
void WordPath::ForEachWithEntry(F&& f) const {
  std::vector<bool> wanted(kUnicodeBlockCount * kUnicodeBlock / kSiblings, false);
  raw_symbols_.ForEach([&](uint32_t c, uint32_t) { wanted[c / kSiblings] = true; });
  const std::vector<bool> has_marks = BlocksWith(IsMark);
  for (uint32_t first = 0; first <= kMaxCodePoint; first += kSiblings) {
    if (first >= 0xD800 && first <= 0xDFFF) continue;
    char bytes[kMaxUtf8Bytes];
    const std::string_view lead(bytes, EncodeUtf8(first, bytes) - 1);
    if (wanted[first / kSiblings] || first < kBlanksEnd || has_marks[first / kUnicodeBlock] || HasRuleFor(lead)) {
      for (uint32_t c = first; c < first + kSiblings; ++c) f(c);
    }
  }
}

void WordPath::BuildCodePoints() {
  // A replacement's symbols, shared by equal ones in a row.
  ForEachWithEntry([&](uint32_t c) {
    const GraphemeBreak property = GraphemeBreakOf(c);
    uint32_t entry = raw_symbols_[c];
    char bytes[kMaxUtf8Bytes];
    const std::string_view one(bytes, EncodeUtf8(c, bytes));
    const auto normal = Normal(one);
    if (normal) {
      Replacement replacement{static_cast<uint32_t>(replacement_symbols_.size()), 0};
      ForEachCodePoint(*normal, [&](uint32_t d) {
        replacement_symbols_.push_back(IsBlankCharacter(d) ? kBlankSymbol : static_cast<Symbol>(raw_symbols_[d]));
        ++replacement.count;
      });
      entry = CodePointTable::kReplaced | static_cast<uint32_t>(replacements_.size());
      // More rules than a number can say: those characters take the long way.
      if (replacements_.size() > CodePointTable::kNumberMask) entry = CodePointTable::kStrange;
      // What blanks inside do depends on what is before.
      if (summed_ != nullptr && *normal != " " && normal->find(' ') != std::string_view::npos) {
        entry = CodePointTable::kStrange;
      }
      replacements_.push_back(replacement);
    } else if (IsBlankCharacter(c)) {
      entry = CodePointTable::kBlank;
    }
    if (entry == marker_) entry |= CodePointTable::kMarker;
    if (summed_ == nullptr && IsMark(property)) entry |= CodePointTable::kMark;
    if (entry != 0) code_points_.Set(c, entry);
  });
  if (precompiled_) FindRuleMarks();
  if (summed_ != nullptr) FindKeyCharacters();
}

// Marks that end a short rule of several characters, wherever in it.
void WordPath::FindRuleMarks() {
  constexpr size_t kShortCluster = 5;
  precompiled_->map().ForEach(kShortCluster, [&](std::string_view key, std::string_view) {
    bool first = true;
    ForEachCodePoint(key, [&](uint32_t c) {
      if (!first && (code_points_[c] & CodePointTable::kMark) != 0) code_points_.AddFlags(c, CodePointTable::kRuleMark);
      first = false;
    });
  });
}

// SentencePiece takes the longest key wherever it stands. One of several
// characters can match only where one that stands in a key before its last is
// followed by one that stands behind a first.
void WordPath::FindKeyCharacters() {
  const SentencePieceRewriter& rewriter = summed_->rewriter();
  rewriter.charsmap().ForEach([&](std::string_view key, std::string_view) {
    const Decoded first = DecodeUtf8(key);
    if (first.length == key.size()) return;
    uint32_t before = first.code_point;
    ForEachCodePoint(key.substr(first.length), [&](uint32_t c) {
      code_points_.AddFlags(before, CodePointTable::kKeyBegin);
      code_points_.AddFlags(c, CodePointTable::kKeyEnd);
      before = c;
    });
  });
}

// What TakeColumns reckons with: no byte of a word has more symbols, whether its
// characters are replaced one by one or the exact normalizer reads it.
void WordPath::FindMaxSymbols() {
  if (precompiled_) max_symbols_per_byte_ = std::max(max_symbols_per_byte_, precompiled_->MaxCharacters(1, 1));
  if (summed_ != nullptr) max_symbols_per_byte_ = std::max(max_symbols_per_byte_, summed_->rewriter().max_characters());
  code_points_.ForEach([&](uint32_t c, uint32_t entry) {
    if ((entry & CodePointTable::kReplaced) == 0) return;
    const size_t count = replacements_[entry & CodePointTable::kNumberMask].count;
    const size_t bytes = Utf8Length(c);
    max_symbols_per_byte_ = std::max(max_symbols_per_byte_, (count + bytes - 1) / bytes);
  });
}

}  // namespace trellis::internal
