#include "src/plain_path.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/highest.h"
#include "src/trie/trie_builder.h"

namespace trellis::internal {
namespace {

// tokenizers, models/unigram/model.rs: K_UNK_PENALTY.
constexpr double kUnkPenalty = 10.0;

size_t Aligned(size_t bytes) { return bytes + ScratchCarver::kAlign; }

}  // namespace

PlainPath::PlainPath(const TokenizerSpec& spec, const PieceList& pieces, const TokenizerOptions& options,
                     Stored* stored)
    : spec_(spec),
      pieces_(pieces),
      options_(options),
      normalizers_(spec.normalizers),
      pre_tokenizers_(spec.pre_tokenizers),
      byte_fallback_(MakeByteFallback()),
      normalized_matcher_({}) {
  std::span<const double> scores = pieces.scores();
  if (scores.empty()) {
    score_by_id_.reserve(pieces.size());
    for (size_t id = 0; id < pieces.size(); ++id) score_by_id_.push_back(pieces.score(id));
    scores = score_by_id_;
  }
  const double lowest = -HighestOf(scores, -scores[0], [](double score) { return -score; });
  scores_ = {scores, lowest - kUnkPenalty, spec.model.unk_id.value_or(kNoPiece)};
  special_.resize(pieces.size(), false);
  if (stored == nullptr) {
    FindShielded();
  } else {
    bitmap_ = std::move(stored->trie);
    for (const TokenId id : stored->shielded) special_[static_cast<size_t>(id)] = true;
    // Whatever the file says.
    for (const AddedToken& token : spec.added_tokens) {
      if (token.special && static_cast<size_t>(token.id) < special_.size()) special_[static_cast<size_t>(token.id)] = true;
    }
  }

  // Tokens flagged normalized are looked for after normalization, themselves
  // normalized.
  std::vector<AddedTokenRule> rules;
  for (const AddedToken& token : spec.added_tokens) {
    if (!token.normalized) continue;
    Scratch scratch;
    scratch.Reserve(normalizers_.MaxRoom(token.content.size()).scratch);
    ScratchCarver carver(scratch);
    const auto normalized = normalizers_.Run({token.content}, carver);
    rules.push_back({std::string(normalized->bytes), token.id, token.single_word, token.lstrip, token.rstrip,
                     token.special});
  }
  // The reference lists special tokens before others.
  std::stable_partition(rules.begin(), rules.end(), [](const AddedTokenRule& rule) { return rule.special; });
  normalized_matcher_ = AddedTokenMatcher(std::move(rules));
}

// Control pieces, and all whose text is a special token's.
void PlainPath::FindShielded() {
  std::vector<std::string_view> contents;
  for (const AddedToken& token : spec_.added_tokens) {
    if (token.special) contents.push_back(token.content);
  }
  std::sort(contents.begin(), contents.end());
  for (size_t id = 0; id < pieces_.size(); ++id) {
    special_[id] = pieces_.type(id) == PieceType::kControl ||
                   std::binary_search(contents.begin(), contents.end(), pieces_.text(id));
  }
}

std::vector<TokenId> PlainPath::ShieldedIds() const {
  std::vector<TokenId> ids;
  for (size_t id = 0; id < special_.size(); ++id) {
    if (special_[id]) ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

std::optional<ByteFallback> PlainPath::MakeByteFallback() const {
  const UnigramModel& model = spec_.model;
  if (!model.byte_fallback || !model.unk_id || spec_.dialect == Dialect::kSentencePiece) return std::nullopt;
  std::array<TokenId, 256> ids;
  ids.fill(kNoPiece);
  for (size_t id = 0; id < pieces_.size(); ++id) {
    const int byte = ByteOfPiece(pieces_.text(id));  // of equal pieces the last counts
    if (byte >= 0) ids[static_cast<size_t>(byte)] = static_cast<TokenId>(id);
  }
  return ByteFallback(ids, *model.unk_id, pieces_.text(static_cast<size_t>(*model.unk_id)));
}

void PlainPath::BuildTrie() const {
  std::call_once(once_, [this] {
    if (bitmap_.size() != 0) return;  // a compiled file's
    std::vector<TrieKey> keys;
    keys.reserve(pieces_.size());
    for (size_t id = 0; id < pieces_.size(); ++id) {
      const PieceView piece = pieces_[id];
      if (!piece.text.empty()) keys.push_back({piece.text, static_cast<int32_t>(id), piece.score});
    }
    const PageSize pages = options_.huge_pages ? PageSize::kHuge : PageSize::kDefault;
    if (options_.trie == TokenizerOptions::TrieKind::kDoubleArray) {
      double_array_ = BuildDoubleArrayTrie(keys, pages);
    } else {
      bitmap_ = BuildBitmapTrie(keys, pages);
    }
  });
}

size_t PlainPath::TrieBytes() const { return bitmap_.bytes() + double_array_.bytes(); }
size_t PlainPath::TrieHugeBytes() const {
  return bitmap_.HugeBytes() + double_array_.HugeBytes();
}

std::optional<AlignedView> PlainPath::Normalize(const TextSegment& segment, ScratchCarver& carver) const {
  return normalizers_.Run({segment.text(), nullptr, segment.begin}, carver);
}

std::optional<PlainPath::PreTokens> PlainPath::PreTokenize(const AlignedView& text, uint32_t begin, uint32_t end,
                                                           ScratchCarver& carver) const {
  return pre_tokenizers_.Run(text, {begin, end, begin < end ? text.SourceOf(begin) : 0}, carver);
}

StageResult PlainPath::FindPath(std::string_view pre_token, MatchSpecial special, std::span<LatticeNode> nodes) const {
  BuildTrie();
  const auto run = [&](auto allowed) {
    return bitmap_.size() != 0
               ? RunUnigram(BitmapTrie(bitmap_.span()), scores_, pre_token, nodes, allowed)
               : RunUnigram(DoubleArrayTrie(double_array_.span()), scores_, pre_token, nodes, allowed);
  };
  const UnigramResult result = special != MatchSpecial::kNo
                                   ? run(AllPieces())
                                   : run([this](TokenId id) { return !special_[static_cast<size_t>(id)]; });
  return result == UnigramResult::kOk ? StageResult::kOk : StageResult::kNoUnk;
}

Offset PlainPath::SourceRange(std::string_view source, const AlignedView& text, uint32_t begin, uint32_t end) {
  const uint32_t last = text.SourceOf(end - 1);
  return {text.SourceOf(begin), last + DecodeUtf8(source.substr(last)).length};
}

StageResult PlainPath::RunPart(const TextSegment& segment, const AlignedView& text, uint32_t begin, uint32_t end,
                               MatchSpecial special, ScratchCarver& carver, TokenSink& sink) const {
  const size_t mark = carver.mark();
  const auto pre_tokens = PreTokenize(text, begin, end, carver);
  if (!pre_tokens) return StageResult::kNoRoom;
  for (const PreToken& range : pre_tokens->ranges) {
    const std::string_view bytes = pre_tokens->text.bytes.substr(range.begin, range.end - range.begin);
    const auto push = [&](uint32_t piece_begin, uint32_t piece_end, TokenId id) {
      const Offset offset =
          sink.wants_offsets()
              ? SourceRange(segment.source, pre_tokens->text, range.begin + piece_begin, range.begin + piece_end)
              : Offset{};
      return sink.Push(id, offset);
    };
    if (const StageResult r = RunLattice(bytes, special, carver, push); r != StageResult::kOk) return r;
  }
  carver.Release(mark);
  return StageResult::kOk;
}

StageResult PlainPath::Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver,
                           TokenSink& sink) const {
  const size_t mark = carver.mark();
  const auto normalized = Normalize(segment, carver);
  if (!normalized) return StageResult::kNoRoom;
  if (const StageResult r = RunNormalized(segment, *normalized, special, carver, sink); r != StageResult::kOk) return r;
  carver.Release(mark);
  return StageResult::kOk;
}

StageResult PlainPath::RunNormalized(const TextSegment& segment, const AlignedView& text, MatchSpecial special,
                                     ScratchCarver& carver, TokenSink& sink) const {
  uint32_t begin = 0;
  const auto part = [&](uint32_t end) {
    return begin < end ? RunPart(segment, text, begin, end, special, carver, sink) : StageResult::kOk;
  };
  AddedTokenMatcher::Pass pass(normalized_matcher_, text.bytes, special);
  AddedTokenMatch match;
  while (!normalized_matcher_.empty() && pass.Next(match)) {
    if (const StageResult r = part(static_cast<uint32_t>(match.begin)); r != StageResult::kOk) return r;
    begin = static_cast<uint32_t>(match.end);
    const Offset offset =
        SourceRange(segment.source, text, static_cast<uint32_t>(match.begin), static_cast<uint32_t>(match.end));
    if (!sink.Push(match.id, offset)) return StageResult::kNoRoom;
  }
  return part(static_cast<uint32_t>(text.bytes.size()));
}

size_t PlainPath::ScratchBytes(size_t bytes) const {
  const NormalizerChain::Room normalized = normalizers_.MaxRoom(bytes);
  const NormalizerChain::Room cut = pre_tokenizers_.MaxRoom(normalized.bytes);
  return normalized.scratch + cut.scratch + Aligned((cut.bytes + 1) * sizeof(LatticeNode));
}

size_t PlainPath::MaxTokens(size_t bytes) const {
  // Each token covers a character, or a byte of an unknown one, of the text as
  // the last pre-tokenizer leaves it.
  const NormalizerChain::Length normalized = normalizers_.MaxLength(bytes);
  using Unit = PreTokenizerChain::Unit;
  const auto unit = byte_fallback_ ? Unit::kBytes : Unit::kCharacters;
  const size_t length = byte_fallback_ ? normalized.bytes : normalized.characters;
  const auto ranges =
      normalized_matcher_.empty() ? PreTokenizerChain::Ranges::kOneEach : PreTokenizerChain::Ranges::kMany;
  return pre_tokenizers_.MaxLength(length, unit, ranges) + 1;
}

}  // namespace trellis::internal
