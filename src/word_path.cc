#include "src/word_path.h"

#include <algorithm>
#include <cstring>

#include "src/word_path_job.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

constexpr size_t kBlock = 2048;  // bytes of text a scan
constexpr uint32_t kBatch = 64;  // words that are looked up and go through the lattice together
// Columns that are always there; words of more bytes take their own.
constexpr size_t kUsualWordBytes = 1024;
// What goes through the lattice with others, and how much of that at a time.
constexpr size_t kBatchWordBytes = 96;
constexpr size_t kBatchSymbols = kUsualWordBytes;
constexpr uint32_t kSentSteps = 7;  // of the walks from words' starts
constexpr uint64_t kMarkHash = 0xA24BAED4963EE407;  // words that differ in punctuation behind
constexpr size_t kNoWord = ~size_t{0};
constexpr size_t kEdges = kBlock + 2 + kEdgeSlack;

// Most words have few tokens, and a call (or what compilers make of a loop)
// costs more than a fixed copy. Up to 3 elements behind either end must be
// readable and, while there is room, are overwritten.
inline void CopyFew(const TokenId* from, size_t count, TokenId* to, size_t room) {
  if (count <= 4 && room >= 4) {
    std::memcpy(to, from, 4 * sizeof(TokenId));
  } else {
    std::memcpy(to, from, count * sizeof(TokenId));
  }
}

}  // namespace

size_t WordPath::ColumnBytes(size_t word_bytes) const {
  const size_t n = MaxSymbols(word_bytes) + 1;
  return n * (sizeof(Symbol) + sizeof(LatticeKey) + 2 * sizeof(uint32_t) + sizeof(TokenId) + sizeof(Offset)) +
         7 * ScratchCarver::kAlign;
}

bool WordPath::TakeColumns(WordColumns& columns, ScratchCarver& carver, size_t word_bytes) const {
  const size_t n = MaxSymbols(word_bytes) + 1;
  const auto symbols = carver.Take<Symbol>(n);
  const auto keys = carver.Take<LatticeKey>(n);
  const auto units = carver.Take<uint32_t>(n);
  const auto positions = carver.Take<uint32_t>(n);
  const auto ids = carver.Take<TokenId>(n + 3);  // CopyFew reads on
  const auto offsets = carver.Take<Offset>(n);
  if (offsets.size() < n) return false;
  columns = {{symbols.data(), keys.data(), units.data()}, positions.data(), ids.data(), offsets.data()};
  return true;
}

size_t WordPath::ScratchBytes(size_t bytes) const {
  size_t total = kEdges * sizeof(uint32_t) + ScratchCarver::kAlign + 2 * ColumnBytes(kUsualWordBytes);
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
  if (edges.empty() || !TakeColumns(job.batch, carver, kUsualWordBytes) ||
      !TakeColumns(job.columns, carver, kUsualWordBytes)) return StageResult::kNoRoom;
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

// One batch of words: where each one's tokens come from, and what is needed to
// get them.
struct WordPath::Batch {
  struct Probe {
    WordKey key;
    uint64_t hash;    // of the whole word, for the cache; 0: none yet
    uint32_t slot;    // in the word table; kNowhere: cannot be there
    uint16_t length;  // of the key
    uint16_t mark;    // 1 + the punctuation that was cut off; 0: none
  };
  enum class From : uint8_t { kTable, kCache, kLattice, kAlone };
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;

  std::span<const Words> words;
  Probe probes[kBatch];
  From from[kBatch];
  union Known {
    TokenId id;              // of kTable
    WordCache::Found found;  // of kCache
    uint8_t range;           // of kLattice
    Known() {}
  };
  Known known[kBatch];
  SymbolRange ranges[kBatch];
  uint32_t range_count;
  uint32_t symbols;  // used of the batch's column
};

StageResult WordPath::RunWords(Job& job, std::span<const Words> words) const {
  Batch batch;
  for (; !words.empty(); words = words.subspan(batch.words.size())) {
    batch.words = words.first(std::min<size_t>(kBatch, words.size()));
    ProbeTable(job, batch);
    LookUp(job, batch);
    RunLattices(job, batch);
    if (const StageResult r = EmitBatch(job, batch); r != StageResult::kOk) return r;
  }
  return StageResult::kOk;
}

// Sends for each word's line of the table.
void WordPath::ProbeTable(const Job& job, Batch& batch) const {
  // Copies, since what is written below might be any of these for all that compilers know.
  const char* const text = job.source().data();
  const size_t text_bytes = job.source().size();
  const WordTable table = word_table_;
  const bool has_table = !table.empty();
  const uint8_t* const punctuation = punctuation_.data();
  const WordCache* const cache = job.cache ? &*job.cache : nullptr;
  Batch::Probe* probe = batch.probes;
  for (const Words word : batch.words) {
    Batch::Probe& out = *probe++;
    uint32_t length = word.end - word.begin;
    const uint32_t mark = length > 1 ? punctuation[static_cast<uint8_t>(text[word.end - 1])] : 0;
    length -= mark != 0;
    if (length > kMaxWordKey) {
      out.slot = Batch::kNowhere;
      out.hash = 0;
      continue;
    }
    WordKey key;
    if (text_bytes - word.begin >= kMaxWordKey) {  // not a sum, which could wrap near 4 GiB
      key = LoadWordKey(text + word.begin, length);
    } else {
      char tail[kMaxWordKey] = {};
      std::memcpy(tail, text + word.begin, length);
      key = LoadWordKey(tail, length);
    }
    const uint64_t hash = HashWordKey(key, length);
    const uint64_t whole_hash = (hash + mark * kMarkHash) | 1;  // never "none"
    const uint32_t slot = has_table ? table.Slot(hash) : Batch::kNowhere;
    out = {key, whole_hash, slot, static_cast<uint16_t>(length), static_cast<uint16_t>(mark)};
    if (cache != nullptr) cache->Prefetch(whole_hash);
    if (has_table) __builtin_prefetch(table.entry(slot));
  }
}

// Decides where each word's tokens come from; symbols of words for the lattice
// go into the batch's column.
void WordPath::LookUp(Job& job, Batch& batch) const {
  batch.range_count = 0;
  batch.symbols = 0;
  for (size_t i = 0; i < batch.words.size(); ++i) {
    Batch::Probe& probe = batch.probes[i];
    if (probe.slot != Batch::kNowhere) {
      const WordEntry& entry = *word_table_.entry(probe.slot);
      // Bit 0 stands for no punctuation behind.
      const bool certified = ((entry.punctuation << 1 | 1) >> probe.mark & 1) != 0;
      if (entry.key == probe.key && entry.length == probe.length && certified) {
        batch.from[i] = Batch::From::kTable;
        batch.known[i].id = entry.id;
        continue;
      }
    }
    const Words word = batch.words[i];
    const std::string_view text = job.source().substr(word.begin, word.end - word.begin);
    if (job.cache && text.size() <= WordCache::kMaxKey) {
      if (probe.hash == 0) probe.hash = WordCache::Hash(text);
      const WordCache::Found found = job.cache->Find(text, probe.hash);
      if (IsUsable(job, found)) {
        batch.known[i].found = found;
        batch.from[i] = Batch::From::kCache;
        continue;
      }
    } else {
      probe.hash = 0;
    }
    batch.from[i] = Batch::From::kAlone;
    if (text.size() > kBatchWordBytes || batch.symbols + MaxSymbols(text.size()) > kBatchSymbols) continue;
    Symbol* const symbols = job.batch.lattice.symbols + batch.symbols;
    uint32_t* const positions = job.batch.positions + batch.symbols;
    uint32_t count = 0;
    if (ReadSymbols(job.source(), word.begin, word.end, symbols, positions, count) != Reading::kOneWord || count == 1) {
      continue;
    }
    symbols[0] = marker_;
    positions[0] = positions[1];
    symbols[count] = kUnknownSymbol;
    SendForSecondUnits(trie_.view(), symbols, count);
    batch.from[i] = Batch::From::kLattice;
    batch.known[i].range = static_cast<uint8_t>(batch.range_count);
    batch.ranges[batch.range_count++] = {batch.symbols, batch.symbols + count, Closeness::kClose};
    batch.symbols += count + 1;
  }
}

void WordPath::RunLattices(Job& job, Batch& batch) const {
  const SymbolColumns& all = job.batch.lattice;
  const CharTrie trie = trie_.view();
  const std::span<SymbolRange> ranges(batch.ranges, batch.range_count);
  for (const SymbolRange& range : ranges) {
    SendForThirdUnits(trie, all.symbols + range.begin, range.end - range.begin);
  }
  // Walks from the words' starts go furthest.
  SentWalk walks[kBatch];
  for (size_t i = 0; i < ranges.size(); ++i) walks[i] = {all.symbols[ranges[i].begin]};
  for (uint32_t step = 1; step <= kSentSteps; ++step) {
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Symbol* const symbols = all.symbols + ranges[i].begin;
      const uint32_t at = std::min(step, ranges[i].end - ranges[i].begin);
      walks[i].Step(trie, symbols[at - 1], symbols[at]);
    }
  }
  for (SymbolRange& range : ranges) {
    const SymbolColumns columns{all.symbols + range.begin, all.keys + range.begin, all.units + range.begin};
    range.closeness = RunSymbolLattice(trie, columns, range.end - range.begin, margin_);
  }
}

bool WordPath::IsUsable(const Job& job, const WordCache::Found& found) const {
  if (found.ids == nullptr || (found.offsets == nullptr && job.sink.wants_offsets())) return false;
  return job.special == MatchSpecial::kYes ||
         std::none_of(found.ids, found.ids + found.count, [this](TokenId id) { return plain_.IsShielded(id); });
}

// Writes the tokens of words that table or cache know, from word `i` on to the first that neither does; returns its
// number. kNoWord: they do not fit.
size_t WordPath::EmitKnown(TokenSink& sink, const Batch& batch, size_t i) const {
  // Copies, since ids are written through a pointer that might lead to any int32_t.
  TokenId* const ids = sink.next_ids();
  Offset* const offsets = sink.next_offsets();
  const size_t room = sink.room();
  const size_t words = batch.words.size();
  size_t wrote = 0;
  for (; i < words; ++i) {
    const Words word = batch.words[i];
    if (batch.from[i] == Batch::From::kTable) {
      const Batch::Probe& probe = batch.probes[i];
      const size_t count = 1 + (probe.mark != 0);
      if (room - wrote < count) return kNoWord;
      ids[wrote] = batch.known[i].id;
      if (count == 2) ids[wrote + 1] = punctuation_ids_[probe.mark];
      if (offsets != nullptr) {
        offsets[wrote] = {word.begin, word.begin + probe.length};
        if (count == 2) offsets[wrote + 1] = {word.begin + probe.length, word.end};
      }
      wrote += count;
    } else if (batch.from[i] == Batch::From::kCache) {
      const WordCache::Found& found = batch.known[i].found;
      if (room - wrote < found.count) return kNoWord;
      CopyFew(found.ids, found.count, ids + wrote, room - wrote);
      if (offsets != nullptr) {
        for (uint32_t k = 0; k < found.count; ++k) {
          offsets[wrote + k] = {word.begin + found.offsets[k].begin, word.begin + found.offsets[k].end};
        }
      }
      wrote += found.count;
    } else {
      break;
    }
  }
  sink.Wrote(wrote);
  return i;
}

// Writes the batch's tokens in order. New words are remembered only afterwards,
// since that may overwrite what others were found to be.
StageResult WordPath::EmitBatch(Job& job, Batch& batch) const {
  TokenSink& sink = job.sink;
  struct News {
    size_t word;
    size_t first;  // tokens
    size_t count;
  };
  News news[kBatch];
  size_t news_count = 0;
  const size_t begin_tokens = sink.size();
  TokenId* const begin_ids = sink.next_ids();
  Offset* const begin_offsets = sink.next_offsets();
  for (size_t i = 0;; ++i) {
    i = EmitKnown(sink, batch, i);
    if (i == kNoWord) return StageResult::kNoRoom;
    if (i == batch.words.size()) break;
    const Words word = batch.words[i];
    job.memorable = true;
    const size_t first = sink.size();
    const StageResult result = batch.from[i] == Batch::From::kLattice
                                   ? FinishPreToken(job, job.batch, batch.ranges[batch.known[i].range])
                                   : EncodeWord(job, word.begin, word.end);
    if (result != StageResult::kOk) return result;
    if (batch.probes[i].hash != 0 && job.cache && job.memorable) {
      news[news_count++] = {i, first - begin_tokens, sink.size() - first};
    }
  }
  for (const News& one : std::span(news, news_count)) {
    if (one.count > WordCache::kMaxTokens) continue;
    const Words word = batch.words[one.word];
    WordOffset offsets[WordCache::kMaxTokens];
    for (size_t k = 0; begin_offsets != nullptr && k < one.count; ++k) {
      const Offset& offset = begin_offsets[one.first + k];
      offsets[k] = {static_cast<uint16_t>(offset.begin - word.begin), static_cast<uint16_t>(offset.end - word.begin)};
    }
    job.cache->Insert(job.source().substr(word.begin, word.end - word.begin), batch.probes[one.word].hash,
                      {begin_ids + one.first, one.count}, {offsets, begin_offsets != nullptr ? one.count : 0});
  }
  return StageResult::kOk;
}

StageResult WordPath::EncodeWord(Job& job, uint32_t begin, uint32_t end) const {
  const size_t mark = job.carver.mark();
  const WordColumns usual = job.columns;
  const uint32_t size = end - begin;
  if (size > kUsualWordBytes && !TakeColumns(job.columns, job.carver, size)) return StageResult::kNoRoom;
  uint32_t count = 0;
  const Reading reading =
      ReadSymbols(job.source(), begin, end, job.columns.lattice.symbols, job.columns.positions, count);
  StageResult result;
  if (reading == Reading::kOneWord && count > 1) {
    job.columns.lattice.symbols[0] = marker_;
    job.columns.lattice.symbols[count] = kUnknownSymbol;
    job.columns.positions[0] = job.columns.positions[1];
    result = RunPreToken(job, 0, count);
  } else {
    if (reading == Reading::kStrange) {
      // What a mark at the start means depends on the blank before it.
      const Decoded d = DecodeUtf8(job.source().substr(begin, size));
      if ((code_points_[d.code_point] & CodePointTable::kMark) != 0) job.memorable = false;
      if (!ReadStrange(job, begin, end, count)) return StageResult::kNoRoom;
    }
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
    const StageResult result = RunPreToken(job, first, end);
    symbols[begin - 1] = before;
    job.columns.positions[begin - 1] = before_position;
    symbols[end] = behind;
    if (result != StageResult::kOk) return result;
    begin = end;
  }
  return StageResult::kOk;
}

// One pre-token that goes through the lattice alone.
StageResult WordPath::RunPreToken(Job& job, uint32_t begin, uint32_t end) const {
  SymbolRange range{begin, end, Closeness::kClose};
  if (end - begin <= kMaxFastSymbols) {
    const SymbolColumns& all = job.columns.lattice;
    const SymbolColumns columns{all.symbols + begin, all.keys + begin, all.units + begin};
    SendForSecondUnits(trie_.view(), columns.symbols, std::min(end - begin, 2 * kAhead));
    SendForThirdUnits(trie_.view(), columns.symbols, std::min(end - begin - 1, kAhead));
    range.closeness = RunSymbolLattice(trie_.view(), columns, end - begin, margin_);
  }
  return FinishPreToken(job, job.columns, range);
}

// From a lattice's columns to tokens; takes the exact lattice where it must.
StageResult WordPath::FinishPreToken(Job& job, const WordColumns& all, const SymbolRange& range) const {
  const SymbolColumns columns{all.lattice.symbols + range.begin, all.lattice.keys + range.begin,
                              all.lattice.units + range.begin};
  const uint32_t count = range.end - range.begin;
  const CharTrie trie = trie_.view();
  const auto exact = [&](auto allowed) {
    const size_t mark = job.carver.mark();
    const auto sums = job.carver.Take<double>(count + 1);
    if (sums.empty()) return false;
    RunExactSymbolLattice(trie, plain_.scores(), columns, sums, count, allowed);
    job.carver.Release(mark);
    return true;
  };
  if (range.closeness == Closeness::kClose && !exact(AllPieces())) return StageResult::kNoRoom;
  if (job.special == MatchSpecial::kNo) {
    // Most words have no special on their best path, and then leaving specials
    // out changes nothing.
    bool has_special = false;
    ForEachPieceBackwards(trie, columns, plain_.scores().unk_id, count,
                          [&](uint32_t, uint32_t, TokenId id) { has_special |= plain_.IsShielded(id); });
    if (has_special) {
      job.memorable = false;
      if (!exact([this](TokenId id) { return !plain_.IsShielded(id); })) return StageResult::kNoRoom;
    }
  }
  return EmitPath(job, columns, all.positions + range.begin, count) ? StageResult::kOk : StageResult::kNoRoom;
}

bool WordPath::EmitPath(Job& job, const SymbolColumns& columns, const uint32_t* positions, uint32_t count) const {
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
  CopyFew(job.columns.path_ids + at, size, job.sink.next_ids(), job.sink.room());
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
