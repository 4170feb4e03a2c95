// WordPath, one word at a time: its symbols to pre-tokens, those through a
// lattice, and the best path to tokens.
#include <algorithm>
#include <cstring>

#include "src/word_path_job.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

StageResult WordPath::EncodeWord(Job& job, uint32_t gap_begin, Words word) const {
  const size_t mark = job.carver.mark();
  if (!normalized_->empty()) {
    const Held held = RunAddedTokens(job, word);
    if (held == Held::kNoRoom) return StageResult::kNoRoom;
    job.carver.Release(mark);
    if (held == Held::kDone) return StageResult::kOk;
  }
  const WordColumns usual = job.columns;
  const uint32_t size = word.end - word.begin;
  if (size > kUsualWordBytes && !TakeColumns(job.columns, job.carver, size)) return StageResult::kNoRoom;
  uint32_t count = 0;
  const Reading reading =
      ReadSymbols(job.source(), word.begin, word.end, job.columns.lattice.symbols, job.columns.positions, count);
  if (reading == Reading::kStrange) {
    if (StartsWithMark(job.source(), word)) job.memorable = false;
    if (!ReadStrange(job, word.begin, word.end, count)) return StageResult::kNoRoom;
  }
  StageResult result;
  if (lead_ != 0) {
    const bool has_blank = gap_begin < word.begin;
    if (has_blank) job.columns.positions[0] = LastBlank(job, gap_begin, word.begin);
    result = RunMarkedSymbols(job, count, has_blank);
  } else if (reading == Reading::kOneWord && count > 1) {
    job.columns.lattice.symbols[0] = marker_;
    job.columns.lattice.symbols[count] = kUnknownSymbol;
    job.columns.positions[0] = job.columns.positions[1];
    job.columns.positions[count] = word.end;
    result = RunPreToken(job, 0, count, CharacterEnds::kNextBegins);
  } else {
    result = RunSymbols(job, count);
  }
  job.columns = usual;
  if (result == StageResult::kOk) job.carver.Release(mark);
  return result;
}

// Cuts symbols[1, count) at blanks (and before markers typed in the text), and
// puts a marker before each pre-token that has none.
StageResult WordPath::RunSymbols(Job& job, uint32_t count) const {
  Symbol* const symbols = job.columns.lattice.symbols;
  uint32_t begin = 1;
  while (begin < count) {
    if (symbols[begin] == kBlankSymbol) {
      ++begin;
      continue;
    }
    uint32_t end = begin + 1;
    while (end < count && symbols[end] != kBlankSymbol && !(symbols[end] == marker_ && split_at_marker_)) ++end;
    // The place before takes the marker, the one behind the end of walks; both
    // get their own symbols back.
    const uint32_t first = symbols[begin] == marker_ ? begin : begin - 1;
    const Symbol before = symbols[begin - 1];
    const Symbol behind = end < count ? symbols[end] : kUnknownSymbol;
    const uint32_t before_position = job.columns.positions[begin - 1];
    symbols[first] = marker_;
    if (first < begin) job.columns.positions[first] = job.columns.positions[begin];
    symbols[end] = kUnknownSymbol;
    const StageResult result = RunPreToken(job, first, end, CharacterEnds::kInSource);
    symbols[begin - 1] = before;
    job.columns.positions[begin - 1] = before_position;
    symbols[end] = behind;
    if (result != StageResult::kOk) return result;
    begin = end;
  }
  return StageResult::kOk;
}

// The same where each blank becomes a marker. With a blank before the word,
// positions[0] is its place; without, a text's start is this, which gets a
// marker when it begins with none.
StageResult WordPath::RunMarkedSymbols(Job& job, uint32_t count, bool has_blank) const {
  Symbol* const symbols = job.columns.lattice.symbols;
  for (uint32_t i = 1; i < count; ++i) {
    if (symbols[i] == kBlankSymbol) symbols[i] = marker_;
  }
  uint32_t begin = 0;
  symbols[0] = marker_;
  if (!has_blank) {
    if (count == 1) return StageResult::kOk;  // nothing is left of it
    if (symbols[1] == marker_) begin = 1;
    job.columns.positions[0] = job.columns.positions[1];
  }
  while (begin < count) {
    uint32_t end = begin + 1;
    while (end < count && symbols[end] != marker_) ++end;
    // Walks must end here.
    const Symbol behind = end < count ? marker_ : kUnknownSymbol;
    symbols[end] = kUnknownSymbol;
    if (const StageResult result = RunPreToken(job, begin, end, CharacterEnds::kInSource);
        result != StageResult::kOk) return result;
    symbols[end] = behind;
    begin = end;
  }
  return StageResult::kOk;
}

// The place of the last of the blanks [begin, end).
uint32_t WordPath::LastBlank(const Job& job, uint32_t begin, uint32_t end) const {
  const char* const text = job.source().data();
  const bool line_end = line_end_is_one_ && end - begin >= 2 && text[end - 1] == '\n' && text[end - 2] == '\r';
  return line_end ? end - 2 : end - 1;
}

// A marker for each blank of [begin, end).
StageResult WordPath::EmitLoneMarkers(Job& job, uint32_t begin, uint32_t end) const {
  TokenId id = trie_.view().units[marker_].id;
  if (job.special == MatchSpecial::kNo && plain_->IsShielded(id)) id = plain_->scores().unk_id;
  for (uint32_t at = begin; at < end; ++at) {
    if (!job.sink.Push(id, {at, at + 1})) return StageResult::kNoRoom;
    if (line_end_is_one_ && end - at >= 2 && job.source()[at] == '\r' && job.source()[at + 1] == '\n') ++at;
  }
  return StageResult::kOk;
}

// One pre-token that goes through the lattice alone.
StageResult WordPath::RunPreToken(Job& job, uint32_t begin, uint32_t end, CharacterEnds ends) const {
  SymbolRange range{begin, end, Closeness::kClose};
  if (end - begin <= kMaxFastSymbols) {
    const SymbolColumns& all = job.columns.lattice;
    const SymbolColumns columns{all.symbols + begin, all.keys + begin, all.units + begin};
    SendForSecondUnits(trie_.view(), columns.symbols, std::min(end - begin, 2 * kAhead));
    SendForThirdUnits(trie_.view(), columns.symbols, std::min(end - begin - 1, kAhead));
    range.closeness = RunSymbolLattice(trie_.view(), columns, end - begin, margin_);
  }
  return FinishPreToken(job, job.columns, range, ends);
}

// From a lattice's columns to tokens; takes the exact lattice where it must.
StageResult WordPath::FinishPreToken(Job& job, const WordColumns& all, const SymbolRange& range,
                                     CharacterEnds ends) const {
  const SymbolColumns columns{all.lattice.symbols + range.begin, all.lattice.keys + range.begin,
                              all.lattice.units + range.begin};
  const uint32_t count = range.end - range.begin;
  const CharTrie trie = trie_.view();
  const auto exact = [&](auto allowed) { RunExactSymbolLattice(trie, plain_->scores(), columns, count, allowed); };
  if (range.closeness == Closeness::kClose) exact(AllPieces());
  bool has_special = false;
  TokenId* const ids = job.sink.next_ids();
  if (job.special == MatchSpecial::kNo) {
    // Most words have no special on their best path, and then leaving specials
    // out changes nothing.
    ForEachPieceBackwards(trie, columns, plain_->scores().unk_id, count,
                          [&](uint32_t, uint32_t, TokenId id) { has_special |= plain_->IsShielded(id); });
    if (has_special) {
      job.memorable = false;
      exact([this](TokenId id) { return !plain_->IsShielded(id); });
    }
  }
  if (!EmitPath(job, columns, all.positions + range.begin, count, ends)) return StageResult::kNoRoom;
  if (has_special) {
    // Those that are no pieces have the unknown's id in a trie that the library built, any in a file made to do harm.
    std::replace_if(ids, job.sink.next_ids(), [this](TokenId id) { return plain_->IsShielded(id); }, plain_->scores().unk_id);
  }
  return StageResult::kOk;
}

bool WordPath::EmitPath(Job& job, const SymbolColumns& columns, const uint32_t* positions, uint32_t count,
                        CharacterEnds ends) const {
  const bool offsets = job.sink.wants_offsets();
  uint32_t at = count + 1;  // in the columns: the path's last token lies at `count`
  ForEachPieceBackwards(trie_.view(), columns, plain_->scores().unk_id, count,
                        [&](uint32_t first, uint32_t behind, TokenId id) {
                          columns.units[--at] = static_cast<uint32_t>(id);
                          if (!offsets) return;
                          const uint32_t last = positions[behind - 1];
                          uint32_t end = ends == CharacterEnds::kNextBegins ? positions[behind] : last;
                          // The next symbol may be of the same character.
                          if (end == last) end += DecodeUtf8(job.source().substr(last)).length;
                          const Offset offset{positions[first], end};
                          std::memcpy(columns.keys + at, &offset, sizeof offset);
                        });
  const size_t size = count + 1 - at;
  const size_t room = job.sink.room();
  if (room < size) return false;
  CopyFew(reinterpret_cast<const TokenId*>(columns.units + at), size, job.sink.next_ids(), room);
  if (offsets) CopyFew(reinterpret_cast<const Offset*>(columns.keys + at), size, job.sink.next_offsets(), room);
  job.sink.Wrote(size);
  return true;
}

// The reference does not count characters that are deleted at the very start of
// a text, and aligns all later ones so many characters too early.
void WordPath::ShiftLostCharacters(const TextSegment& segment, Offset* offsets, size_t count) const {
  if (!precompiled_ || count == 0) return;
  size_t lost = precompiled_->LostCharacters(segment.text());
  if (lost == 0) return;
  // Begins rise, and so do ends: a cursor for each, and one `lost` characters
  // behind it.
  struct Cursors {
    std::string_view text;
    uint32_t ahead;
    uint32_t behind;
    uint32_t MoveTo(uint32_t position) {
      while (ahead < position) {
        ahead += DecodeUtf8(text.substr(ahead)).length;
        behind += DecodeUtf8(text.substr(behind)).length;
      }
      return behind;
    }
  };
  Cursors begins{segment.source, segment.begin, segment.begin};
  for (; lost > 0; --lost) begins.ahead += DecodeUtf8(segment.source.substr(begins.ahead)).length;
  Cursors ends = begins;
  for (size_t i = 0; i < count; ++i) offsets[i] = {begins.MoveTo(offsets[i].begin), ends.MoveTo(offsets[i].end)};
}

}  // namespace trellis::internal
