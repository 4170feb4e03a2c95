// WordPath, from a word's bytes to symbols: by character where that is enough,
// through the exact normalizer where it is not.
#include "src/word_path_job.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

constexpr uint32_t kMarks = CodePointTable::kMark | CodePointTable::kRuleMark;

}  // namespace

// Symbols of a word that per-character rules settle; symbols[0] is left for the
// marker. kStrange: the exact normalizer must read it. kOneWord: and each
// character is there, so that one ends where the next begins.
WordPath::Reading WordPath::ReadSymbols(std::string_view source, uint32_t begin, uint32_t end, Symbol* symbols,
                                        uint32_t* positions, uint32_t& count) const {
  uint32_t cuts = 0;
  uint32_t n = 1;
  symbols[0] = kUnknownSymbol;
  positions[0] = begin;
  // What a mark at the start would join is a blank: one byte, no rule.
  uint32_t previous_length = 1;
  bool previous_replaced = false;
  bool previous_grew = false;
  const uint32_t wide_end = ThreeByteEnd(source, end);
  for (uint32_t at = begin; at < end;) {
    // Most text is runs of characters of one length that nothing is to be said of. A mark among those of three bytes
    // makes no short cluster with the one before.
    const uint32_t run_begin = n;
    uint32_t flags = previous_length == 3 ? CodePointTable::kFlags & ~kMarks : CodePointTable::kFlags;
    for (; at < wide_end; at += 3) {
      const uint32_t code_point = ThreeByteCharacter(source.data() + at);
      if (code_point == 0) break;
      const uint32_t entry = code_points_[code_point];
      if ((entry & flags) != 0) break;
      flags = CodePointTable::kFlags & ~kMarks;
      symbols[n] = static_cast<Symbol>(entry);
      positions[n++] = at;
    }
    if (n > run_begin) {
      previous_length = 3;
      previous_replaced = previous_grew = false;
      continue;
    }
    const auto [entry, length] = code_points_.At(source, at, end);
    if (length == 0) return Reading::kStrange;
    if ((entry & CodePointTable::kFlags) == 0) {
      symbols[n] = static_cast<Symbol>(entry);
      positions[n++] = at;
      previous_replaced = previous_grew = false;
    } else {
      if ((entry & CodePointTable::kStrange) != 0) return Reading::kStrange;
      // Cluster rules reach clusters of fewer than 6 bytes only, and those need
      // a mark after a character that a rule touches or before which one ends.
      if ((entry & CodePointTable::kMark) != 0 && previous_length + length < 6 &&
          (previous_replaced || (entry & CodePointTable::kRuleMark) != 0)) {
        return Reading::kStrange;
      }
      if ((entry & CodePointTable::kReplaced) != 0) {
        const Replacement& replacement = replacements_[entry & CodePointTable::kNumberMask];
        // A deletion behind an insertion aligns oddly (normalizer.h).
        if (replacement.count == 0 && previous_grew) return Reading::kStrange;
        cuts |= replacement.count == 0;
        for (uint32_t i = 0; i < replacement.count; ++i) {
          const Symbol symbol = replacement_symbols_[replacement.begin + i];
          cuts |= symbol == kBlankSymbol || symbol == marker_;
          symbols[n] = symbol;
          positions[n++] = at;
        }
        previous_replaced = true;
        previous_grew = replacement.count > 1;
      } else {
        cuts |= entry & (CodePointTable::kBlank | CodePointTable::kMarker);
        symbols[n] = (entry & CodePointTable::kBlank) != 0 ? kBlankSymbol : static_cast<Symbol>(entry);
        positions[n++] = at;
        previous_replaced = previous_grew = false;
      }
    }
    previous_length = length;
    at += length;
  }
  count = n;
  return cuts != 0 ? Reading::kCuts : Reading::kOneWord;
}

// A word through the exact normalizer. nullopt: scratch is too small.
std::optional<AlignedView> WordPath::NormalizeStrange(Job& job, uint32_t begin, uint32_t end) const {
  // A blank joins a mark behind it into one cluster; other ASCII blanks are
  // controls and do not.
  const bool joins = begin > job.segment.begin && job.source()[begin - 1] == ' ';
  if (joins) --begin;
  const AlignedView raw{job.source().substr(begin, end - begin), nullptr, begin};
  const size_t room = precompiled_ ? precompiled_->MaxBytes(raw.bytes.size()) : raw.bytes.size() * 3;
  const auto bytes = job.carver.Take<char>(room);
  const auto sources = job.carver.Take<uint32_t>(room);
  if (sources.size() < room) return std::nullopt;
  const AlignedBuffer out{bytes.data(), sources.data()};
  const size_t size = precompiled_ ? precompiled_->Run(raw, TextStart::kInside, out) : RunRepair(raw, out);
  // That blank stays itself: no rule begins with one.
  const size_t first = joins ? 1 : 0;
  return AlignedView{{bytes.data() + first, size - first}, sources.data() + first, begin};
}

// Symbols of a word through the exact normalizer. false: scratch is too small.
bool WordPath::ReadStrange(Job& job, uint32_t begin, uint32_t end, uint32_t& count) const {
  const std::optional<AlignedView> word = NormalizeStrange(job, begin, end);
  if (!word) return false;
  uint32_t n = 1;
  job.columns.lattice.symbols[0] = kUnknownSymbol;
  job.columns.positions[0] = word->origin;
  for (size_t at = 0; at < word->bytes.size();) {
    const Decoded d = DecodeUtf8(word->bytes.substr(at));
    job.columns.lattice.symbols[n] =
        IsBlankCharacter(d.code_point) ? kBlankSymbol : static_cast<Symbol>(raw_symbols_[d.code_point]);
    job.columns.positions[n++] = word->source[at];
    at += d.length;
  }
  count = n;
  return true;
}

}  // namespace trellis::internal
