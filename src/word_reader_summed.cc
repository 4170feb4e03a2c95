// WordPath in SentencePiece's dialect, from a word's bytes to symbols. Rules are
// applied leftmost, longest over bytes: a rule of one character decides unless
// two characters follow one another as they do in some longer key (the code
// point table knows); such words, and malformed ones, go through the exact
// normalizer.
#include "src/word_path_job.h"
#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

// Symbols of a word; symbols[0] is left for the marker. A blank inside becomes a
// marker, those in front and behind are dropped, and `end` moves to the first of
// those behind.
WordPath::Reading WordPath::ReadSummed(std::string_view source, uint32_t begin, uint32_t& end, Symbol* symbols,
                                       uint32_t* positions, uint32_t& count) const {
  uint32_t n = 1;
  uint32_t previous = 0;  // entry of the character before
  bool cuts = false;
  symbols[0] = marker_;
  positions[0] = begin;
  const uint32_t wide_end = ThreeByteEnd(source, end);
  for (uint32_t at = begin; at < end;) {
    // Most text is runs of characters of one length that nothing is to be said of.
    for (; at < wide_end; at += 3) {
      const uint32_t code_point = ThreeByteCharacter(source.data() + at);
      if (code_point == 0) break;
      const uint32_t entry = code_points_[code_point];
      if ((entry & CodePointTable::kFlags) != 0) break;
      symbols[n] = static_cast<Symbol>(entry);
      positions[n++] = at;
      previous = entry;
    }
    if (at >= end) break;
    const auto [entry, length] = code_points_.At(source, at, end);
    if (length == 0) return Reading::kStrange;
    if ((entry & CodePointTable::kFlags) == 0) {
      symbols[n] = static_cast<Symbol>(entry);
      positions[n++] = at;
    } else {
      if ((entry & CodePointTable::kMarker) != 0) return Reading::kWholeText;
      if ((entry & CodePointTable::kStrange) != 0) return Reading::kStrange;
      if ((entry & CodePointTable::kKeyEnd) != 0 && (previous & CodePointTable::kKeyBegin) != 0) {
        return Reading::kStrange;
      }
      if ((entry & CodePointTable::kReplaced) == 0) {
        symbols[n] = static_cast<Symbol>(entry);
        positions[n++] = at;
      } else {
        const Replacement& replacement = replacements_[entry & CodePointTable::kNumberMask];
        for (uint32_t i = 0; i < replacement.count; ++i) {
          Symbol symbol = replacement_symbols_[replacement.begin + i];
          if (symbol == kBlankSymbol) {
            cuts = true;
            if (symbols[n - 1] == marker_) continue;
            symbol = marker_;
          }
          symbols[n] = symbol;
          positions[n++] = at;
        }
      }
    }
    previous = entry;
    at += length;
  }
  if (n > 1 && symbols[n - 1] == marker_) end = positions[--n];
  count = n;
  return cuts ? Reading::kCuts : Reading::kOneWord;
}

// The same through the exact normalizer. false: scratch is too small.
bool WordPath::ReadStrangeSummed(Job& job, uint32_t begin, uint32_t& end, uint32_t& count) const {
  const std::string_view text = job.source().substr(begin, end - begin);
  const size_t most = MaxNormalizedBytes(summed_->rewriter(), text.size());
  const auto bytes = job.carver.Take<char>(most);
  const auto alignment = job.carver.Take<uint32_t>(most + 1);
  if (bytes.empty() || alignment.empty()) return false;
  const auto size = NormalizeSentencePiece(summed_->rewriter(), summed_->blanks(), text,
                                           {.bytes = bytes, .alignment = alignment});
  if (!size) return false;
  uint32_t n = 1;
  if (*size > 0) {
    for (size_t at = kMetaSpace.size(); at < *size;) {
      const Decoded d = DecodeUtf8({bytes.data() + at, *size - at});
      job.columns.lattice.symbols[n] = static_cast<Symbol>(raw_symbols_[d.code_point]);
      job.columns.positions[n++] = begin + alignment[at];
      at += d.length;
    }
    end = begin + alignment[*size];
  }
  count = n;
  return true;
}

}  // namespace trellis::internal
