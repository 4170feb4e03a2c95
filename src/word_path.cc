#include "src/word_path.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/word_path_job.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

constexpr size_t kBlock = 2048;  // bytes of text a scan
// What goes through the lattice with others, and how much of that at a time.
constexpr size_t kBatchWordBytes = 96;
constexpr size_t kBatchSymbols = kUsualWordBytes;
constexpr uint32_t kSentSteps = 7;  // of the walks from words' starts
constexpr uint64_t kMarkHash = 0xA24BAED4963EE407;  // words that differ in punctuation behind
constexpr size_t kEdges = kBlock + 2 + kEdgeSlack;

}  // namespace

size_t WordPath::ColumnBytes(size_t word_bytes) const {
  const size_t n = MaxSymbols(word_bytes) + 1;
  return n * (sizeof(Symbol) + sizeof(LatticeKey) + 2 * sizeof(uint32_t)) + 5 * ScratchCarver::kAlign;
}

bool WordPath::TakeColumns(WordColumns& columns, ScratchCarver& carver, size_t word_bytes) const {
  const size_t n = MaxSymbols(word_bytes) + 1;
  const auto symbols = carver.Take<Symbol>(n);
  const auto keys = carver.Take<LatticeKey>(n + 3);  // CopyFew reads on
  const auto units = carver.Take<uint32_t>(n + 3);
  const auto positions = carver.Take<uint32_t>(n);
  if (positions.size() < n) return false;
  columns = {{symbols.data(), keys.data(), units.data()}, positions.data()};
  return true;
}

size_t WordPath::ScratchBytes(size_t bytes) const {
  size_t total = kEdges * sizeof(uint32_t) + ScratchCarver::kAlign + 2 * ColumnBytes(kUsualWordBytes);
  if (bytes > kUsualWordBytes) total += ColumnBytes(bytes);
  // What strange words take.
  const size_t context = bytes + 1;  // a strange word is read from the blank before it
  size_t normalized = context * 3;
  if (precompiled_) normalized = precompiled_->MaxBytes(context);
  if (summed_ != nullptr) normalized = MaxNormalizedBytes(summed_->rewriter(), bytes) + 1;
  total += normalized * (1 + sizeof(uint32_t)) + 3 * ScratchCarver::kAlign;
  if (!normalized_->empty()) return total + plain_->ScratchBytes(context);
  return MayNeedPlain() ? std::max(total, summed_->ScratchBytes(bytes)) : total;
}

StageResult WordPath::Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver,
                          WordCache::Memory* cache, TokenSink& sink) const {
  const size_t mark = carver.mark();
  Job job{segment, special, carver, std::nullopt, sink};
  if (cache != nullptr) job.cache.emplace(cache);
  job.gap_begin = segment.begin;
  const auto edges = carver.Take<uint32_t>(kEdges);
  if (edges.empty() || !TakeColumns(job.batch, carver, kUsualWordBytes) ||
      !TakeColumns(job.columns, carver, kUsualWordBytes)) return StageResult::kNoRoom;
  const TokenSink start = sink;

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
    if (job.needs_plain) {
      carver.Release(mark);
      sink = start;
      return summed_->Run(segment, special, carver, sink);
    }
    if (result != StageResult::kOk) return result;
    if (count % 2 != 0) edges[0] = edges[count - 1];
    count %= 2;
  }
  if (lead_ != 0) {
    if (const StageResult r = EmitLoneMarkers(job, job.gap_begin, segment.end); r != StageResult::kOk) return r;
  }
  if (sink.wants_offsets()) ShiftLostCharacters(segment, start.next_offsets(), sink.size() - start.size());
  carver.Release(mark);
  return StageResult::kOk;
}

StageResult WordPath::RunWords(Job& job, std::span<const Words> words) const {
  if (summed_ != nullptr && job.sink.wants_offsets() && job.token_end == Job::kNone) FindFirst(job, words);
  Batch batch;
  for (; !words.empty(); words = words.subspan(batch.words.size())) {
    batch.words = words.first(std::min<size_t>(kBatch, words.size()));
    batch.gap_begin = job.gap_begin;
    ProbeTable(job, batch);
    if (summed_ != nullptr) {
      LookUp<Kind::kSummed>(job, batch);
    } else {
      lead_ != 0 ? LookUp<Kind::kMarked>(job, batch) : LookUp<Kind::kApart>(job, batch);
    }
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

// Where blanks become markers: notes what comes before word i. false: its marker
// is none of the byte before it.
bool WordPath::SeeGap(Job& job, Batch& batch, size_t i) const {
  const uint32_t begin = batch.words[i].begin;
  const uint32_t gap_begin = job.gap_begin;
  job.gap_begin = batch.words[i].end;
  if (begin - gap_begin == 1) return true;
  if (begin == gap_begin) return false;  // a text's start
  const uint32_t last = LastBlank(job, gap_begin, begin);
  if (last > gap_begin) batch.lone |= uint64_t{1} << i;
  return last + 1 == begin;
}

// Decides where each word's tokens come from; symbols of words for the lattice
// go into the batch's column.
template <WordPath::Kind kKind>
void WordPath::LookUp(Job& job, Batch& batch) const {
  batch.range_count = 0;
  batch.symbols = 0;
  batch.lone = 0;
  // Where sums go on, scores are sent for, and entries that do not hold are as none.
  constexpr bool kSummed = kKind == Kind::kSummed;
  const float* const scores = kSummed ? summed_->scores().scores.data() : nullptr;
  const auto far = kSummed ? static_cast<uint32_t>(std::ceil(FarFromZero(job.sum) / WordEntry::kReachUnit)) : 0;
  for (size_t i = 0; i < batch.words.size(); ++i) {
    Batch::Probe& probe = batch.probes[i];
    if (kKind == Kind::kMarked && !SeeGap(job, batch, i)) {
      batch.from[i] = Batch::From::kAlone;
      probe.hash = 0;
      // A text's first word may be in the table, but what is remembered has the blank before it in its offsets.
      if (batch.words[i].begin != batch.GapBegin(i)) continue;
      const WordEntry* const entry = probe.slot != Batch::kNowhere ? word_table_.entry(probe.slot) : nullptr;
      if (entry != nullptr && Batch::IsFor(*entry, probe)) {
        batch.from[i] = Batch::From::kTable;
        batch.known[i].in_table = {entry->id, entry->reach};
      }
      continue;
    }
    if (probe.slot != Batch::kNowhere) {
      const WordEntry& entry = *word_table_.entry(probe.slot);
      if (Batch::IsFor(entry, probe) && (!kSummed || entry.reach >= far)) {
        batch.from[i] = Batch::From::kTable;
        batch.known[i].in_table = {entry.id, entry.reach};
        if (kSummed) __builtin_prefetch(scores + entry.id);
        continue;
      }
    }
    const Words word = batch.words[i];
    const std::string_view text = job.source().substr(word.begin, word.end - word.begin);
    if (job.cache && text.size() <= WordCache::kMaxKey) {
      if (probe.hash == 0) probe.hash = WordCache::Hash(text);
      const WordCache::Found found = job.cache->Find(text, probe.hash);
      if (IsUsable(job, found)) {
        for (uint32_t k = 0; kSummed && k < found.count; ++k) __builtin_prefetch(scores + found.ids[k]);
        batch.known[i].found = found;
        batch.from[i] = Batch::From::kCache;
        continue;
      }
    } else {
      probe.hash = 0;
    }
    batch.from[i] = Batch::From::kAlone;
    if (!normalized_->empty() && MayHoldAddedToken(text)) continue;
    if (text.size() > kBatchWordBytes || batch.symbols + MaxSymbols(text.size()) > kBatchSymbols) continue;
    Symbol* const symbols = job.batch.lattice.symbols + batch.symbols;
    uint32_t* const positions = job.batch.positions + batch.symbols;
    uint32_t count = 0, end = word.end;
    const Reading reading = kSummed
                                ? ReadSummed(job.source(), word.begin, end, symbols, positions, count)
                                : ReadSymbols(job.source(), word.begin, end, symbols, positions, count);
    if (reading != Reading::kOneWord || count == 1) continue;
    symbols[0] = marker_;
    positions[0] = kKind == Kind::kMarked ? word.begin - 1 : positions[1];
    symbols[count] = kUnknownSymbol;
    positions[count] = word.end;
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
  for (size_t i = 0; i < ranges.size(); ++i) {
    SymbolRange& range = ranges[i];
    const SymbolColumns columns{all.symbols + range.begin, all.keys + range.begin, all.units + range.begin};
    if (summed_ != nullptr) {
      const uint32_t count = range.end - range.begin;
      batch.reaches[i] = RunFarSymbolLattice(trie, columns, count, float_costs_, kHighestClass);
      continue;
    }
    range.closeness = RunSymbolLattice(trie, columns, range.end - range.begin, margin_);
  }
}

bool WordPath::IsUsable(const Job& job, const WordCache::Found& found) const {
  if (found.ids == nullptr || (found.offsets == nullptr && job.sink.wants_offsets())) return false;
  // SentencePiece matches no special piece; where one is added, this path is not taken.
  return job.special != MatchSpecial::kNo || summed_ != nullptr ||
         std::none_of(found.ids, found.ids + found.count, [this](TokenId id) { return plain_->IsShielded(id); });
}

// Writes the tokens of words that table or cache know, from word `i` on to `end` or the first that neither does;
// returns its number. kNoWord: they do not fit.
size_t WordPath::EmitKnown(const Job& job, const Batch& batch, size_t i, size_t end) const {
  TokenSink& sink = job.sink;
  // Copies, since ids are written through a pointer that might lead to any int32_t.
  TokenId* const ids = sink.next_ids();
  Offset* const offsets = sink.next_offsets();
  const size_t room = sink.room();
  size_t wrote = 0;
  for (; i < end; ++i) {
    const Words word = batch.words[i];
    if (batch.from[i] == Batch::From::kTable) {
      const Batch::Probe& probe = batch.probes[i];
      const size_t count = 1 + (probe.mark != 0);
      if (room - wrote < count) return kNoWord;
      ids[wrote] = batch.known[i].in_table.id;
      if (count == 2) ids[wrote + 1] = punctuation_ids_[probe.mark];
      if (offsets != nullptr) {
        // A text's first word has no blank before it.
        offsets[wrote] = {word.begin - std::min(lead_, word.begin - job.segment.begin), word.begin + probe.length};
        if (count == 2) offsets[wrote + 1] = {word.begin + probe.length, word.end};
      }
      wrote += count;
    } else if (batch.from[i] == Batch::From::kCache) {
      const WordCache::Found& found = batch.known[i].found;
      if (room - wrote < found.count) return kNoWord;
      CopyFew(found.ids, found.count, ids + wrote, room - wrote);
      if (offsets != nullptr) {
        const uint32_t from = word.begin - lead_;
        for (uint32_t k = 0; k < found.count; ++k) {
          offsets[wrote + k] = {from + found.offsets[k].begin, from + found.offsets[k].end};
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

// A word that neither table nor cache knows for this sum.
StageResult WordPath::EncodeNewWord(Job& job, const Batch& batch, size_t i) const {
  const Words word = batch.words[i];
  const bool has_range = batch.from[i] == Batch::From::kLattice;
  if (summed_ == nullptr) {
    return has_range ? FinishPreToken(job, job.batch, batch.ranges[batch.known[i].range], CharacterEnds::kNextBegins)
                     : EncodeWord(job, batch.GapBegin(i), word);
  }
  if (!has_range) return SumWord(job, word);
  StartWord(job);
  const size_t range = batch.known[i].range;
  return FinishSummed(job, job.batch, batch.ranges[range], batch.reaches[range], word.end);
}

// Writes the batch's tokens in order. New words are remembered only afterwards,
// since that may overwrite what others were found to be.
StageResult WordPath::EmitBatch(Job& job, Batch& batch) const {
  TokenSink& sink = job.sink;
  struct News {
    size_t word;
    size_t first;  // tokens
    size_t count;
    float reach;
  };
  News news[kBatch];
  size_t news_count = 0;
  const size_t begin_tokens = sink.size();
  TokenId* const begin_ids = sink.next_ids();
  Offset* const begin_offsets = sink.next_offsets();
  for (size_t i = 0; i < batch.words.size();) {
    size_t end = batch.words.size();
    if (batch.lone != 0) {
      if ((batch.lone >> i & 1) != 0) {
        const uint32_t gap_begin = batch.GapBegin(i);
        const StageResult result = EmitLoneMarkers(job, gap_begin, LastBlank(job, gap_begin, batch.words[i].begin));
        if (result != StageResult::kOk) return result;
      }
      const uint64_t later = batch.lone >> i >> 1;
      if (later != 0) end = i + 1 + static_cast<size_t>(std::countr_zero(later));
    }
    for (;; ++i) {
      i = summed_ != nullptr ? EmitKnownSums(job, batch, i) : EmitKnown(job, batch, i, end);
      if (i == kNoWord) return StageResult::kNoRoom;
      if (i == end) break;
      job.memorable = true;
      const size_t first = sink.size();
      const StageResult result = EncodeNewWord(job, batch, i);
      if (result != StageResult::kOk) return result;
      if (batch.probes[i].hash != 0 && job.cache && job.memorable) {
        const auto reach = static_cast<float>(std::min(job.reach, double{std::numeric_limits<float>::max()}));
        news[news_count++] = {i, first - begin_tokens, sink.size() - first, reach};
      }
    }
  }
  for (const News& one : std::span(news, news_count)) {
    if (one.count > WordCache::kMaxTokens) continue;
    const Words word = batch.words[one.word];
    WordOffset offsets[WordCache::kMaxTokens];
    // Where sums go on, a token begins where the one before ends.
    const uint32_t from = word.begin - lead_;
    for (size_t k = 0; begin_offsets != nullptr && k < one.count; ++k) {
      const Offset& offset = begin_offsets[one.first + k];
      const auto begin = static_cast<uint16_t>(summed_ != nullptr ? 0 : offset.begin - from);
      offsets[k] = {begin, static_cast<uint16_t>(offset.end - from)};
    }
    job.cache->Insert(job.source().substr(word.begin, word.end - word.begin), batch.probes[one.word].hash,
                      {begin_ids + one.first, one.count}, {offsets, begin_offsets != nullptr ? one.count : 0}, one.reach);
  }
  return StageResult::kOk;
}

}  // namespace trellis::internal
