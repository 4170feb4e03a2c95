#include "src/word_path.h"

#include <algorithm>
#include <cstring>

#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

constexpr size_t kBlock = 2048;  // bytes of text a scan
constexpr uint32_t kBatch = 32;  // words whose table lines are on their way at a time
constexpr Symbol kBlankSymbol = 0xFFFF;
// Columns that are always there, for words of up to so many bytes; longer words
// take their own.
constexpr size_t kUsualWordBytes = 1024;
// Longer pre-tokens take the exact lattice at once: the margin is computed for
// sums of so many pieces.
constexpr uint32_t kMaxFastSymbols = 1024;
constexpr size_t kEdges = kBlock + 2 + kEdgeSlack;

}  // namespace

// Scratch of one word; positions[i] is where symbol i's source character begins.
struct WordPath::WordColumns {
  SymbolColumns lattice;
  uint32_t* positions;
  TokenId* path_ids;
  Offset* path_offsets;
};

struct WordPath::Job {
  const TextSegment& segment;
  MatchSpecial special;
  ScratchCarver& carver;
  std::optional<WordCache> cache;
  TokenSink& sink;

  WordColumns columns = {};  // of the word at hand

  std::string_view source() const { return segment.source; }
};

size_t WordPath::ColumnBytes(size_t word_bytes) const {
  const size_t n = MaxSymbols(word_bytes) + 1;
  return n * (sizeof(Symbol) + sizeof(LatticeKey) + 2 * sizeof(uint32_t) + sizeof(TokenId) + sizeof(Offset)) +
         6 * ScratchCarver::kAlign;
}

bool WordPath::TakeColumns(WordColumns& columns, ScratchCarver& carver, size_t word_bytes) const {
  const size_t n = MaxSymbols(word_bytes) + 1;
  const auto symbols = carver.Take<Symbol>(n);
  const auto keys = carver.Take<LatticeKey>(n);
  const auto units = carver.Take<uint32_t>(n);
  const auto positions = carver.Take<uint32_t>(n);
  const auto ids = carver.Take<TokenId>(n);
  const auto offsets = carver.Take<Offset>(n);
  if (offsets.size() < n) return false;
  columns = {{symbols.data(), keys.data(), units.data()}, positions.data(), ids.data(), offsets.data()};
  return true;
}

size_t WordPath::ScratchBytes(size_t bytes) const {
  size_t total = kEdges * sizeof(uint32_t) + ScratchCarver::kAlign + ColumnBytes(kUsualWordBytes);
  if (bytes > kUsualWordBytes) total += ColumnBytes(bytes);
  const size_t context = bytes + 1;  // a strange word is read from the blank before it
  if (precompiled_) {
    total += precompiled_->MaxBytes(context) * (1 + sizeof(uint32_t));
  } else {
    total += context * 3 * (1 + sizeof(uint32_t));
  }
  return total + (MaxSymbols(bytes) + 1) * sizeof(double) + 4 * ScratchCarver::kAlign;
}

size_t WordPath::MaxTokens(size_t bytes) const { return plain_.MaxTokens(bytes); }

StageResult WordPath::Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver,
                          WordCache::Memory* cache, TokenSink& sink) const {
  const size_t mark = carver.mark();
  Job job{segment, special, carver, std::nullopt, sink};
  if (cache != nullptr) job.cache.emplace(cache);
  const auto edges = carver.Take<uint32_t>(kEdges);
  if (edges.empty() || !TakeColumns(job.columns, carver, kUsualWordBytes)) return StageResult::kNoRoom;
  const size_t first = sink.size();
  Offset* const offsets = sink.next_offsets();

  InRun in_run = InRun::kNo;
  size_t count = 0;
  for (uint32_t at = segment.begin; at < segment.end;) {
    const auto size = static_cast<uint32_t>(std::min<size_t>(kBlock, segment.end - at));
    count += FindEdges(segment.source.data() + at, size, blanks_, at, in_run, edges.data() + count);
    at += size;
    if (at == segment.end && in_run == InRun::kYes) edges[count++] = at;
    // A pair of edges is a word; an odd one waits for the next block.
    static_assert(sizeof(Words) == 2 * sizeof(uint32_t));
    const StageResult result = RunWords(job, {reinterpret_cast<const Words*>(edges.data()), count / 2});
    if (result != StageResult::kOk) return result;
    if (count % 2 != 0) edges[0] = edges[count - 1];
    count %= 2;
  }
  if (offsets != nullptr) ShiftLostCharacters(segment, offsets, sink.size() - first);
  carver.Release(mark);
  return StageResult::kOk;
}

StageResult WordPath::RunWords(Job& job, std::span<const Words> words) const {
  const std::string_view source = job.source();
  if (word_table_.empty()) {
    for (const Words& word : words) {
      if (const StageResult r = RunWord(job, word.begin, word.end); r != StageResult::kOk) return r;
    }
    return StageResult::kOk;
  }
  constexpr uint32_t kNowhere = 0xFFFFFFFF;
  WordKey keys[kBatch];
  uint32_t slots[kBatch];
  for (size_t done = 0; done < words.size(); done += kBatch) {
    const Words* const batch = words.data() + done;
    const auto size = static_cast<uint32_t>(std::min<size_t>(kBatch, words.size() - done));
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t begin = batch[i].begin;
      uint32_t length = batch[i].end - begin;
      length -= punctuation_[static_cast<uint8_t>(source[batch[i].end - 1])] != 0 && length > 1;
      slots[i] = kNowhere;
      if (length > kMaxWordKey) continue;
      if (begin + kMaxWordKey <= source.size()) {
        keys[i] = LoadWordKey(source.data() + begin, length);
      } else {
        char tail[kMaxWordKey] = {};
        std::memcpy(tail, source.data() + begin, length);
        keys[i] = LoadWordKey(tail, length);
      }
      slots[i] = word_table_.Slot(HashWordKey(keys[i], length));
      __builtin_prefetch(word_table_.entry(slots[i]));
    }
    TokenSink& sink = job.sink;
    for (uint32_t i = 0; i < size; ++i) {
      const Words word = batch[i];
      if (slots[i] != kNowhere && sink.room() >= 2) {
        const WordEntry& entry = *word_table_.entry(slots[i]);
        const uint32_t length = word.end - word.begin;
        const uint32_t mark = length > 1 ? punctuation_[static_cast<uint8_t>(source[word.end - 1])] : 0;
        const uint32_t key_length = length - (mark != 0);
        const bool certified = mark == 0 || (entry.punctuation >> (mark - 1) & 1) != 0;
        if (entry.key == keys[i] && entry.length == key_length && certified) {
          // The second token is written anyway and counts when there is one.
          sink.next_ids()[0] = entry.id;
          sink.next_ids()[1] = punctuation_ids_[mark != 0 ? mark - 1 : 0];
          if (Offset* offsets = sink.next_offsets(); offsets != nullptr) {
            offsets[0] = {word.begin, word.begin + key_length};
            offsets[1] = {word.begin + key_length, word.end};
          }
          sink.Wrote(1 + (mark != 0));
          continue;
        }
      }
      if (const StageResult r = RunWord(job, word.begin, word.end); r != StageResult::kOk) return r;
    }
  }
  return StageResult::kOk;
}

StageResult WordPath::RunWord(Job& job, uint32_t begin, uint32_t end) const {
  TokenSink& sink = job.sink;
  const std::string_view word = job.source().substr(begin, end - begin);
  uint64_t hash = 0;
  const bool cacheable = job.cache && word.size() <= WordCache::kMaxKey;
  if (cacheable) {
    hash = WordCache::Hash(word);
    const WordCache::Found found = job.cache->Find(word, hash);
    if (found.ids != nullptr && (found.offsets != nullptr || !sink.wants_offsets())) {
      const bool shielded = job.special == MatchSpecial::kNo &&
                            std::any_of(found.ids, found.ids + found.count,
                                        [this](TokenId id) { return plain_.IsShielded(id); });
      if (!shielded) {
        if (sink.room() < found.count) return StageResult::kNoRoom;
        std::copy_n(found.ids, found.count, sink.next_ids());
        if (Offset* offsets = sink.next_offsets(); offsets != nullptr) {
          for (uint32_t i = 0; i < found.count; ++i) {
            offsets[i] = {begin + found.offsets[i].begin, begin + found.offsets[i].end};
          }
        }
        sink.Wrote(found.count);
        return StageResult::kOk;
      }
    }
  }
  const size_t first = sink.size();
  TokenId* const ids = sink.next_ids();
  const Offset* const offsets = sink.next_offsets();
  bool context_free = true;
  const StageResult result = EncodeWord(job, begin, end, context_free);
  if (result != StageResult::kOk || !cacheable || !context_free) return result;
  const size_t count = sink.size() - first;
  if (count > WordCache::kMaxTokens) return result;
  WordOffset word_offsets[WordCache::kMaxTokens];
  for (size_t i = 0; offsets != nullptr && i < count; ++i) {
    word_offsets[i] = {static_cast<uint16_t>(offsets[i].begin - begin), static_cast<uint16_t>(offsets[i].end - begin)};
  }
  job.cache->Insert(word, hash, {ids, count}, {word_offsets, offsets != nullptr ? count : 0});
  return result;
}

// Symbols of a word that per-character rules settle; symbols[0] is left for the
// marker. kStrange: the exact normalizer must read it.
WordPath::Reading WordPath::ReadSymbols(std::string_view source, uint32_t begin, uint32_t end, Symbol* symbols,
                                        uint32_t* positions, uint32_t& count) const {
  uint32_t n = 1;
  symbols[0] = kUnknownSymbol;
  positions[0] = begin;
  // What a mark at the start would join is a blank: one byte, no rule.
  uint32_t previous_length = 1;
  bool previous_replaced = false;
  bool previous_grew = false;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(source.data());
  for (uint32_t at = begin; at < end;) {
    uint32_t code_point = bytes[at];
    uint32_t length = 1;
    if (code_point >= 0x80) {
      const Decoded d = DecodeUtf8(source.substr(at, end - at));
      if (!d.well_formed) return Reading::kStrange;
      code_point = d.code_point;
      length = d.length;
    }
    const uint32_t entry = code_points_[code_point];
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
        for (uint32_t i = 0; i < replacement.count; ++i) {
          symbols[n] = replacement_symbols_[replacement.begin + i];
          positions[n++] = at;
        }
        previous_replaced = true;
        previous_grew = replacement.count > 1;
      } else {
        symbols[n] = (entry & CodePointTable::kBlank) != 0 ? kBlankSymbol : static_cast<Symbol>(entry);
        positions[n++] = at;
        previous_replaced = previous_grew = false;
      }
    }
    previous_length = length;
    at += length;
  }
  count = n;
  return Reading::kDone;
}

// The same through the exact normalizer. false: scratch is too small.
bool WordPath::ReadStrange(Job& job, uint32_t begin, uint32_t end, uint32_t& count) const {
  // A blank joins a mark behind it into one cluster; other ASCII blanks are
  // controls and do not.
  if (begin > job.segment.begin && job.source()[begin - 1] == ' ') --begin;
  const AlignedView raw{job.source().substr(begin, end - begin), nullptr, begin};
  const size_t room = precompiled_ ? precompiled_->MaxBytes(raw.bytes.size()) : raw.bytes.size() * 3;
  const auto bytes = job.carver.Take<char>(room);
  const auto sources = job.carver.Take<uint32_t>(room);
  if (sources.size() < room) return false;
  const AlignedBuffer out{bytes.data(), sources.data()};
  const size_t size = precompiled_ ? precompiled_->Run(raw, TextStart::kInside, out) : RunRepair(raw, out);
  uint32_t n = 1;
  job.columns.lattice.symbols[0] = kUnknownSymbol;
  job.columns.positions[0] = begin;
  for (size_t at = 0; at < size;) {
    const Decoded d = DecodeUtf8({bytes.data() + at, size - at});
    job.columns.lattice.symbols[n] =
        IsWhitespace(d.code_point) ? kBlankSymbol : static_cast<Symbol>(raw_symbols_[d.code_point]);
    job.columns.positions[n++] = sources[at];
    at += d.length;
  }
  count = n;
  return true;
}

StageResult WordPath::EncodeWord(Job& job, uint32_t begin, uint32_t end, bool& context_free) const {
  const size_t mark = job.carver.mark();
  const WordColumns usual = job.columns;
  const uint32_t size = end - begin;
  if (size > kUsualWordBytes && !TakeColumns(job.columns, job.carver, size)) return StageResult::kNoRoom;
  uint32_t count = 0;
  if (ReadSymbols(job.source(), begin, end, job.columns.lattice.symbols, job.columns.positions, count) == Reading::kStrange) {
    // What a mark at the start means depends on the blank before it.
    const Decoded d = DecodeUtf8(job.source().substr(begin, size));
    context_free = (code_points_[d.code_point] & CodePointTable::kMark) == 0;
    if (!ReadStrange(job, begin, end, count)) return StageResult::kNoRoom;
  }
  const StageResult result = RunSymbols(job, count);
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
    const StageResult result = RunPreToken(job, first, end);
    symbols[begin - 1] = before;
    job.columns.positions[begin - 1] = before_position;
    symbols[end] = behind;
    if (result != StageResult::kOk) return result;
    begin = end;
  }
  return StageResult::kOk;
}

StageResult WordPath::RunPreToken(Job& job, uint32_t begin, uint32_t end) const {
  const SymbolColumns columns{job.columns.lattice.symbols + begin, job.columns.lattice.keys + begin, job.columns.lattice.units + begin};
  const uint32_t count = end - begin;
  const CharTrie trie = trie_.view();
  const auto exact = [&](auto allowed) {
    const size_t mark = job.carver.mark();
    const auto sums = job.carver.Take<double>(count + 1);
    if (sums.empty()) return false;
    RunExactSymbolLattice(trie, plain_.scores(), columns, sums, count, allowed);
    job.carver.Release(mark);
    return true;
  };
  if (count > kMaxFastSymbols || RunSymbolLattice(trie, columns, count, margin_) == Closeness::kClose) {
    if (!exact(AllPieces())) return StageResult::kNoRoom;
  }
  if (job.special == MatchSpecial::kNo) {
    // Most words have no special on their best path, and then leaving specials
    // out changes nothing.
    bool has_special = false;
    ForEachPieceBackwards(trie, columns, plain_.scores().unk_id, count,
                          [&](uint32_t, uint32_t, TokenId id) { has_special |= plain_.IsShielded(id); });
    if (has_special && !exact([this](TokenId id) { return !plain_.IsShielded(id); })) return StageResult::kNoRoom;
  }
  return EmitPath(job, begin, count) ? StageResult::kOk : StageResult::kNoRoom;
}

bool WordPath::EmitPath(Job& job, uint32_t begin, uint32_t count) const {
  const SymbolColumns columns{job.columns.lattice.symbols + begin, job.columns.lattice.keys + begin, job.columns.lattice.units + begin};
  const uint32_t* const positions = job.columns.positions + begin;
  const bool offsets = job.sink.wants_offsets();
  uint32_t at = count;
  ForEachPieceBackwards(trie_.view(), columns, plain_.scores().unk_id, count,
                        [&](uint32_t first, uint32_t behind, TokenId id) {
                          job.columns.path_ids[--at] = id;
                          if (!offsets) return;
                          const uint32_t last = positions[behind - 1];
                          job.columns.path_offsets[at] = {positions[first], last + DecodeUtf8(job.source().substr(last)).length};
                        });
  const size_t size = count - at;
  if (job.sink.room() < size) return false;
  std::copy_n(job.columns.path_ids + at, size, job.sink.next_ids());
  if (offsets) std::copy_n(job.columns.path_offsets + at, size, job.sink.next_offsets());
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
