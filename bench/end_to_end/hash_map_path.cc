#include "bench/end_to_end/hash_map_path.h"

#include <limits>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "src/tokenizer_impl.h"
#include "trellis/internal/stage/unigram.h"

namespace trellis::bench {

using internal::AddedTokenMatch;
using internal::AddedTokenMatcher;
using internal::AlignedView;
using internal::LatticeNode;
using internal::MatchSpecial;
using internal::PlainPath;
using internal::PreToken;
using internal::StageResult;
using internal::TextSegment;
using internal::TokenSink;

absl::StatusOr<std::unique_ptr<HashMapPath>> HashMapPath::Create(const Tokenizer& tokenizer) {
  if (tokenizer.spec().dialect != Dialect::kHuggingFace) {
    return absl::InvalidArgumentError(
        "hash map trie: expected a model of the Hugging Face dialect (tokenizer.json)");
  }
  absl::StatusOr<HashMapTrie> trie = HashMapTrie::Create(tokenizer.spec().model.pieces);
  if (!trie.ok()) return trie.status();
  return std::unique_ptr<HashMapPath>(new HashMapPath(tokenizer, *std::move(trie)));
}

HashMapPath::HashMapPath(const Tokenizer& tokenizer, HashMapTrie trie)
    : TextPath(tokenizer),
      plain_(tokenizer.impl().plain_path()),
      raw_matcher_(tokenizer.impl().raw_matcher()),
      trie_(std::move(trie)) {}

StageResult HashMapPath::RunPart(const TextSegment& segment, const AlignedView& text, uint32_t begin,
                                 uint32_t end, ScratchCarver& carver, TokenSink& sink) const {
  if (begin >= end) return StageResult::kOk;
  const size_t mark = carver.mark();
  const auto pre_tokens = plain_.PreTokenize(text, begin, end, carver);
  if (!pre_tokens) return StageResult::kNoRoom;
  for (const PreToken& range : pre_tokens->ranges) {
    const size_t lattice_mark = carver.mark();
    const std::string_view bytes = pre_tokens->text.bytes.substr(range.begin, range.end - range.begin);
    const auto lattice = carver.Take<LatticeNode>(bytes.size() + 1);
    if (lattice.empty()) return StageResult::kNoRoom;
    const auto found = internal::RunUnigram(trie_, plain_.scores(), bytes, lattice);
    if (found == internal::UnigramResult::kNoUnk) return StageResult::kNoUnk;
    bool fits = true;
    internal::ForEachUnigramPiece(
        lattice, static_cast<uint32_t>(bytes.size()), [&](uint32_t from, uint32_t to, TokenId id) {
          const Offset offset = sink.wants_offsets()
                                    ? PlainPath::SourceRange(segment.source, pre_tokens->text,
                                                             range.begin + from, range.begin + to)
                                    : Offset{};
          fits = fits && sink.Push(id, offset);
        });
    if (!fits) return StageResult::kNoRoom;
    carver.Release(lattice_mark);
  }
  carver.Release(mark);
  return StageResult::kOk;
}

StageResult HashMapPath::RunSegment(const TextSegment& segment, ScratchCarver& carver,
                                    TokenSink& sink) const {
  if (segment.begin >= segment.end) return StageResult::kOk;
  const size_t mark = carver.mark();
  const auto normalized = plain_.Normalize(segment, carver);
  if (!normalized) return StageResult::kNoRoom;
  const AlignedView& text = *normalized;
  uint32_t begin = 0;
  AddedTokenMatcher::Pass pass(plain_.normalized_matcher(), text.bytes, MatchSpecial::kYes);
  AddedTokenMatch match;
  while (!plain_.normalized_matcher().empty() && pass.Next(match)) {
    const auto match_begin = static_cast<uint32_t>(match.begin);
    const auto match_end = static_cast<uint32_t>(match.end);
    if (const StageResult r = RunPart(segment, text, begin, match_begin, carver, sink); r != StageResult::kOk)
      return r;
    if (!sink.Push(match.id, PlainPath::SourceRange(segment.source, text, match_begin, match_end))) {
      return StageResult::kNoRoom;
    }
    begin = match_end;
  }
  const auto end = static_cast<uint32_t>(text.bytes.size());
  if (const StageResult r = RunPart(segment, text, begin, end, carver, sink); r != StageResult::kOk) return r;
  carver.Release(mark);
  return StageResult::kOk;
}

absl::StatusOr<Encoding> HashMapPath::Encode(std::string_view text, Scratch& scratch,
                                             const EncodingBuffer& buffer) const {
  // A status without a message does not allocate.
  const auto failed = [](StageResult r) {
    return absl::Status(
        r == StageResult::kNoUnk ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kResourceExhausted,
        "");
  };
  if (text.size() > std::numeric_limits<uint32_t>::max()) return failed(StageResult::kNoRoom);
  ScratchCarver carver(scratch);
  TokenSink sink(buffer.ids.data(), buffer.offsets.empty() ? nullptr : buffer.offsets.data(),
                 buffer.ids.size());
  uint32_t begin = 0;
  AddedTokenMatcher::Pass pass(raw_matcher_, text, MatchSpecial::kYes);
  AddedTokenMatch match;
  while (!raw_matcher_.empty() && pass.Next(match)) {
    const auto match_begin = static_cast<uint32_t>(match.begin);
    const auto match_end = static_cast<uint32_t>(match.end);
    if (const StageResult r = RunSegment({text, begin, match_begin}, carver, sink); r != StageResult::kOk) {
      return failed(r);
    }
    if (!sink.Push(match.id, Offset{match_begin, match_end})) return failed(StageResult::kNoRoom);
    begin = match_end;
  }
  const StageResult r = RunSegment({text, begin, static_cast<uint32_t>(text.size())}, carver, sink);
  if (r != StageResult::kOk) return failed(r);
  Encoding encoding;
  encoding.ids = buffer.ids.first(sink.size());
  if (!buffer.offsets.empty()) encoding.offsets = buffer.offsets.first(sink.size());
  return encoding;
}

}  // namespace trellis::bench
