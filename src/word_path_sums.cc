// WordPath in SentencePiece's dialect: words whose sums go on from one to the
// next.
//
// Why words may be taken apart at all (FindObstacle checks what this needs): the
// normalized text is marker, word, marker, word...; a marker is in no piece but
// at its front, so that no piece reaches across one and every path goes through
// the position before each. What came before a word thus reaches into it through
// one number, the sum at its marker.
//
// Why a word alone normalizes as it does inside its text: it stands between bytes
// that become exactly a blank and are in no longer rule, so that no rule reaches
// across; a malformed character ends before ASCII; behind a blank as at a text's
// start blanks are dropped; and behind the word at most one blank is put, where
// its own blank at the end has been kept no longer than that (no rule makes text
// that ends with a blank, but exactly one).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/word_path_job.h"
#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

// A text's first token begins at the first character that is not dropped as a
// blank in front; later ones where the one before ends.
void WordPath::FindFirst(Job& job, std::span<const Words> words) const {
  for (const Words word : words) {
    for (uint32_t at = word.begin; at < word.end;) {
      const auto step = summed_->rewriter().Next(job.source().substr(at, word.end - at));
      if (step.text != " ") {
        job.token_end = at;
        return;
      }
      at += static_cast<uint32_t>(step.length);
    }
  }
}

// EmitKnown where what is known holds for some sums only: ends before the first
// word for which it does not, too.
size_t WordPath::EmitKnownSums(Job& job, const Batch& batch, size_t i) const {
  // Copies, since ids are written through a pointer that might lead to any int32_t.
  TokenSink& sink = job.sink;
  TokenId* const ids = sink.next_ids();
  Offset* const offsets = sink.next_offsets();
  const size_t room = sink.room();
  const size_t words = batch.words.size();
  const float* const scores = summed_->scores().scores.data();
  float sum = job.sum;
  uint32_t token_end = job.token_end;
  size_t wrote = 0;
  for (; i < words; ++i) {
    const Words word = batch.words[i];
    if (batch.from[i] == Batch::From::kTable) {
      const Batch::Probe& probe = batch.probes[i];
      const Batch::InTable& known = batch.known[i].in_table;
      if (!Holds(sum, static_cast<float>(known.reach) * WordEntry::kReachUnit)) break;
      const size_t count = 1 + (probe.mark != 0);
      if (room - wrote < count) return kNoWord;
      ids[wrote] = known.id;
      sum += scores[known.id];
      if (count == 2) {
        const TokenId punctuation = punctuation_ids_[probe.mark];
        ids[wrote + 1] = punctuation;
        sum += scores[punctuation];
      }
      if (offsets != nullptr) {
        offsets[wrote] = {token_end, word.begin + probe.length};
        if (count == 2) offsets[wrote + 1] = {word.begin + probe.length, word.end};
        token_end = word.end;
      }
      wrote += count;
    } else if (batch.from[i] == Batch::From::kCache) {
      const WordCache::Found& found = batch.known[i].found;
      if (!Holds(sum, found.reach)) break;
      if (room - wrote < found.count) return kNoWord;
      CopyFew(found.ids, found.count, ids + wrote, room - wrote);
      for (uint32_t k = 0; k < found.count; ++k) sum += scores[found.ids[k]];
      if (offsets != nullptr) {
        for (uint32_t k = 0; k < found.count; ++k) {
          offsets[wrote + k] = {token_end, word.begin + found.offsets[k].end};
          token_end = offsets[wrote + k].end;
        }
      }
      wrote += found.count;
    } else {
      break;
    }
  }
  job.sum = sum;
  job.token_end = token_end;
  sink.Wrote(wrote);
  return i;
}

// One word that goes through the lattice alone.
StageResult WordPath::SumWord(Job& job, Words word) const {
  const size_t mark = job.carver.mark();
  const WordColumns usual = job.columns;
  if (word.end - word.begin > kUsualWordBytes && !TakeColumns(job.columns, job.carver, word.end - word.begin)) {
    return StageResult::kNoRoom;
  }
  const WordColumns& all = job.columns;
  Symbol* const symbols = all.lattice.symbols;
  uint32_t count = 0, source_end = word.end;
  Reading reading = ReadSummed(job.source(), word.begin, source_end, symbols, all.positions, count);
  if (reading == Reading::kStrange) {
    source_end = word.end;
    const std::string_view text = job.source().substr(word.begin, word.end - word.begin);
    if (MayNeedPlain() && text.find(kMetaSpace) != std::string_view::npos) {
      reading = Reading::kWholeText;
    } else if (!ReadStrangeSummed(job, word.begin, source_end, count)) {
      return StageResult::kNoRoom;
    }
  }
  if (reading == Reading::kWholeText) {
    job.needs_plain = true;
    return StageResult::kNoRoom;
  }
  symbols[0] = marker_;
  StartWord(job);
  // Blanks inside have become markers; before each a pre-token ends.
  for (uint32_t begin = 0, end; begin < count && count > 1; begin = end) {
    end = begin + 1;
    while (end < count && symbols[end] != marker_) ++end;
    symbols[end] = kUnknownSymbol;  // walks must end here
    double reach = kHoldsNowhere;
    if (end - begin <= kMaxFastSymbols) {
      const SymbolColumns columns{symbols + begin, all.lattice.keys + begin, all.lattice.units + begin};
      SendForSecondUnits(trie_.view(), columns.symbols, std::min(end - begin, 2 * kAhead));
      SendForThirdUnits(trie_.view(), columns.symbols, std::min(end - begin - 1, kAhead));
      reach = RunFarSymbolLattice(trie_.view(), columns, end - begin, float_costs_, ClassOf(job, end - begin));
    }
    const uint32_t part_end = end < count ? all.positions[end] : source_end;
    const StageResult result = FinishSummed(job, all, {begin, end, Closeness::kClose}, reach, part_end);
    if (result != StageResult::kOk) return result;
    if (end < count) symbols[end] = marker_;
  }
  job.columns = usual;
  job.carver.Release(mark);
  return StageResult::kOk;
}

// What is found of a word is for any sum; in a long one that is asking for too much.
int WordPath::ClassOf(const Job& job, uint32_t count) const {
  constexpr uint32_t kShort = 64;
  if (count <= kShort) return kHighestClass;
  return std::min(kHighestClass, std::ilogb(1.0 + FarFromZero(job.sum) + float_costs_.highest * count) + 1);
}

// From the fast lattice's columns to tokens, through the exact one where the sum
// is out of its reach. `source_end` is where the last token ends.
StageResult WordPath::FinishSummed(Job& job, const WordColumns& all, const SymbolRange& range, double reach,
                                   uint32_t source_end) const {
  if (Holds(job.sum, reach)) {
    // Later parts of a word begin further from zero. Roundings of at most 255 tokens stay below 4.
    const double before = static_cast<double>(job.word_sum) - job.sum;
    job.reach = std::min(job.reach, before > 0.0 ? reach - before - 8.0 : reach);
    return EmitSummed(job, all, range, source_end) ? StageResult::kOk : StageResult::kNoRoom;
  }
  const SymbolColumns columns{all.lattice.symbols + range.begin, all.lattice.keys + range.begin,
                              all.lattice.units + range.begin};
  const uint32_t count = range.end - range.begin;
  const SentencePieceScores& model = summed_->scores();
  const FloatScores scores{model.scores, model.unk_score, model.unk_id};
  const float after = RunFloatSymbolLattice(trie_.view(), scores, columns, count, job.sum);
  job.memorable = false;
  if (!EmitSummed(job, all, range, source_end)) return StageResult::kNoRoom;
  job.sum = after;
  return StageResult::kOk;
}

// Writes the tokens of the path in the columns, and adds up their scores as the
// reference does. Each token ends where the next one's source begins.
bool WordPath::EmitSummed(Job& job, const WordColumns& all, const SymbolRange& range, uint32_t source_end) const {
  const SentencePieceScores& model = summed_->scores();
  const CharUnit* const trie = trie_.view().units;
  const uint32_t count = range.end - range.begin;
  const bool wants_offsets = job.sink.wants_offsets();
  // The path's units and where its tokens end; the last lies at `count`.
  uint32_t* const units = all.lattice.units + range.begin;
  LatticeKey* const keys = all.lattice.keys + range.begin;
  uint32_t first = count + 1;
  for (uint32_t end = count; end > 0;) {
    const auto length = static_cast<uint32_t>(keys[end] & kLengthMask);
    units[--first] = units[end];
    if (wants_offsets) keys[first] = end == count ? source_end : all.positions[range.begin + end];
    end -= length;
  }

  // Where costs are exact, so are scores made of them, and nearer at hand.
  const bool exact = float_costs_.rounding == 0.0;
  const auto score_per_cost = static_cast<float>(-1.0 / float_costs_.unit);
  TokenId* const ids = job.sink.next_ids();
  Offset* const offsets = job.sink.next_offsets();
  const size_t room = job.sink.room();
  float sum = job.sum;
  size_t wrote = 0;
  for (uint32_t k = first; k <= count; ++k) {
    const CharUnit& unit = trie[units[k]];
    const TokenId id = unit.id;
    const bool unknown = id == model.unk_id;
    if (exact) {
      sum += static_cast<float>(unit.cost) * score_per_cost;
    } else {
      sum += unknown ? model.unk_score : model.scores[static_cast<size_t>(id)];
    }
    // A run of unknown characters is one token, of which the sum has many.
    const bool goes_on = unknown && wrote > 0 && ids[wrote - 1] == id;
    if (unknown) job.memorable = false;
    if (!goes_on && wrote == room) return false;
    if (wants_offsets) {
      const auto end = static_cast<uint32_t>(keys[k]);
      if (goes_on) {
        offsets[wrote - 1].end = end;
      } else {
        offsets[wrote] = {job.token_end, end};
      }
      job.token_end = end;
    }
    if (!goes_on) ids[wrote++] = id;
  }
  job.sum = sum;
  job.sink.Wrote(wrote);
  return true;
}

}  // namespace trellis::internal
