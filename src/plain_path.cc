#include "src/plain_path.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/trie/trie_builder.h"

namespace trellis::internal {
namespace {

// tokenizers, models/unigram/model.rs: K_UNK_PENALTY.
constexpr double kUnkPenalty = 10.0;

AlignedBuffer TakeAligned(ScratchCarver& carver, size_t bytes, bool& ok) {
  const auto text = carver.Take<char>(bytes);
  const auto source = carver.Take<uint32_t>(bytes);
  ok = ok && text.size() == bytes && source.size() == bytes;
  return {text.data(), source.data()};
}

size_t Aligned(size_t bytes) { return bytes + ScratchCarver::kAlign; }

constexpr size_t kUnknownBytes = 3;  // of U+FFFD

}  // namespace

PlainPath::PlainPath(const TokenizerSpec& spec, const TokenizerOptions& options)
    : spec_(spec), options_(options), normalized_matcher_({}) {
  for (const Normalizer& normalizer : spec.normalizers) {
    if (const auto* precompiled = std::get_if<PrecompiledNormalizer>(&normalizer)) {
      steps_.emplace_back(std::in_place_type<PrecompiledStep>, precompiled->charsmap);
    } else if (const auto* replace = std::get_if<ReplaceNormalizer>(&normalizer)) {
      steps_.emplace_back(std::in_place_type<ReplaceStep>,
                          replace->is_regex ? ReplaceStep::Pattern::kTwoOrMoreBlanks : ReplaceStep::Pattern::kString,
                          replace->pattern, replace->content);
    }
  }
  for (const PreTokenizer& pre_tokenizer : spec.pre_tokenizers) {
    if (const auto* metaspace = std::get_if<MetaspacePreTokenizer>(&pre_tokenizer)) {
      splits_.emplace_back(MetaspaceStep(*metaspace));
    } else {
      splits_.emplace_back(std::monostate());
    }
  }

  const auto& pieces = spec.model.pieces;
  score_by_id_.reserve(pieces.size());
  double lowest = pieces[0].score;
  for (const Piece& piece : pieces) {
    score_by_id_.push_back(piece.score);
    lowest = std::min(lowest, piece.score);
  }
  scores_ = {score_by_id_, lowest - kUnkPenalty, spec.model.unk_id.value_or(kNoPiece)};
  special_.resize(pieces.size(), false);
  std::vector<std::string_view> contents;
  for (const AddedToken& token : spec.added_tokens) {
    if (token.special) contents.push_back(token.content);
  }
  std::sort(contents.begin(), contents.end());
  for (size_t id = 0; id < pieces.size(); ++id) {
    special_[id] = pieces[id].type == PieceType::kControl ||
                   std::binary_search(contents.begin(), contents.end(), std::string_view(pieces[id].text));
  }

  // Tokens flagged normalized are looked for after normalization, themselves
  // normalized.
  std::vector<AddedTokenRule> rules;
  for (const AddedToken& token : spec.added_tokens) {
    if (!token.normalized) continue;
    Scratch scratch;
    scratch.Reserve(ScratchBytes(token.content.size()));
    ScratchCarver carver(scratch);
    const TextSegment content{token.content, 0, static_cast<uint32_t>(token.content.size())};
    const auto normalized = Normalize(content, carver);
    rules.push_back({std::string(normalized->text.bytes), token.id, token.single_word, token.lstrip, token.rstrip,
                     token.special});
  }
  normalized_matcher_ = AddedTokenMatcher(std::move(rules));
}

void PlainPath::BuildTrie() const {
  std::call_once(once_, [this] {
    std::vector<TrieKey> keys;
    keys.reserve(spec_.model.pieces.size());
    for (size_t id = 0; id < spec_.model.pieces.size(); ++id) {
      const Piece& piece = spec_.model.pieces[id];
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
  return bitmap_.memory().HugeBytes() + double_array_.memory().HugeBytes();
}

std::optional<PlainPath::Normalized> PlainPath::Normalize(const TextSegment& segment, ScratchCarver& carver) const {
  AlignedView view{segment.text(), nullptr, segment.begin};
  size_t room = 0;
  bool ok = true;
  // Only Precompiled takes malformed text itself; and without any step the
  // text still wants its alignment.
  if (steps_.empty() || !std::holds_alternative<PrecompiledStep>(steps_[0])) {
    room = view.bytes.size() * kUnknownBytes;
    const AlignedBuffer out = TakeAligned(carver, room, ok);
    if (!ok) return std::nullopt;
    view = {{out.bytes, RunRepair(view, out)}, out.source, 0};
  }
  for (const Step& step : steps_) {
    room = std::visit([&](const auto& s) { return s.MaxBytes(view.bytes.size()); }, step);
    const AlignedBuffer out = TakeAligned(carver, room, ok);
    if (!ok) return std::nullopt;
    const size_t size = std::holds_alternative<PrecompiledStep>(step)
                            ? std::get<PrecompiledStep>(step).Run(view, TextStart::kStart, out)
                            : std::get<ReplaceStep>(step).Run(view, out);
    view = {{out.bytes, size}, out.source, 0};
  }
  return Normalized{view, room};
}

std::optional<PlainPath::PreTokens> PlainPath::PreTokenize(const AlignedView& text, uint32_t begin, uint32_t end,
                                                           uint32_t source_begin, ScratchCarver& carver) const {
  AlignedView view = text;
  auto whole = carver.Take<PreToken>(1);
  if (whole.empty()) return std::nullopt;
  whole[0] = {begin, end, source_begin};
  std::span<const PreToken> ranges = whole.first(begin < end ? 1 : 0);
  for (const SplitStep& step : splits_) {
    const auto* metaspace = std::get_if<MetaspaceStep>(&step);
    if (metaspace == nullptr) {
      const auto out = carver.Take<PreToken>(MaxPreTokens(view.bytes.size()));
      if (out.size() < MaxPreTokens(view.bytes.size())) return std::nullopt;
      ranges = out.first(RunWhitespaceSplit(view, ranges, out));
      continue;
    }
    const size_t room = metaspace->MaxBytes(view.bytes.size(), ranges.size());
    bool ok = true;
    const AlignedBuffer out_text = TakeAligned(carver, room, ok);
    const auto out = carver.Take<PreToken>(MaxPreTokens(room));
    if (!ok || out.size() < MaxPreTokens(room)) return std::nullopt;
    const MetaspaceStep::Sizes sizes = metaspace->Run(view, ranges, out_text, out);
    view = {{out_text.bytes, sizes.bytes}, out_text.source, 0};
    ranges = out.first(sizes.pre_tokens);
  }
  return PreTokens{view, ranges};
}

template <typename Allowed>
size_t PlainPath::RunLattice(std::string_view text, std::span<LatticeNode> lattice, std::span<PieceSpan> out,
                             Allowed allowed) const {
  BuildTrie();
  if (options_.trie == TokenizerOptions::TrieKind::kDoubleArray) {
    return RunUnigram(DoubleArrayTrie(double_array_.span()), scores_, text, lattice, out, allowed);
  }
  return RunUnigram(BitmapTrie(bitmap_.span()), scores_, text, lattice, out, allowed);
}

std::span<const PieceSpan> PlainPath::Lattice(std::string_view pre_token, MatchSpecial special,
                                              ScratchCarver& carver, StageResult& result) const {
  const auto lattice = carver.Take<LatticeNode>(pre_token.size() + 1);
  const auto out = carver.Take<PieceSpan>(pre_token.size());
  if (lattice.empty() || out.size() < pre_token.size()) {
    result = StageResult::kNoRoom;
    return {};
  }
  const size_t count =
      special == MatchSpecial::kYes
          ? RunLattice(pre_token, lattice, out, AllPieces())
          : RunLattice(pre_token, lattice, out, [this](TokenId id) { return !special_[static_cast<size_t>(id)]; });
  if (count == kUnknownWithoutId) {
    result = StageResult::kNoUnk;
    return {};
  }
  result = StageResult::kOk;
  return out.first(count);
}

Offset PlainPath::SourceRange(std::string_view source, const AlignedView& text, uint32_t begin, uint32_t end) {
  const uint32_t last = text.SourceOf(end - 1);
  return {text.SourceOf(begin), last + DecodeUtf8(source.substr(last)).length};
}

StageResult PlainPath::RunPart(const TextSegment& segment, const AlignedView& text, uint32_t begin, uint32_t end,
                               uint32_t source_begin, MatchSpecial special, ScratchCarver& carver,
                               TokenSink& sink) const {
  const size_t mark = carver.mark();
  const auto pre_tokens = PreTokenize(text, begin, end, source_begin, carver);
  if (!pre_tokens) return StageResult::kNoRoom;
  for (const PreToken& range : pre_tokens->ranges) {
    const size_t lattice_mark = carver.mark();
    StageResult result;
    const auto pieces =
        Lattice(pre_tokens->text.bytes.substr(range.begin, range.end - range.begin), special, carver, result);
    if (result != StageResult::kOk) return result;
    for (const PieceSpan& piece : pieces) {
      const Offset offset =
          sink.wants_offsets()
              ? SourceRange(segment.source, pre_tokens->text, range.begin + piece.begin, range.begin + piece.end)
              : Offset{};
      if (!sink.Push(piece.id, offset)) return StageResult::kNoRoom;
    }
    carver.Release(lattice_mark);
  }
  carver.Release(mark);
  return StageResult::kOk;
}

StageResult PlainPath::Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver,
                           TokenSink& sink) const {
  const size_t mark = carver.mark();
  const auto normalized = Normalize(segment, carver);
  if (!normalized) return StageResult::kNoRoom;
  const AlignedView& text = normalized->text;
  uint32_t begin = 0;
  const auto part = [&](uint32_t end) {
    if (begin >= end) return StageResult::kOk;
    const uint32_t source_begin = begin == 0 && end == text.bytes.size() ? segment.begin : text.SourceOf(begin);
    return RunPart(segment, text, begin, end, source_begin, special, carver, sink);
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
  if (const StageResult r = part(static_cast<uint32_t>(text.bytes.size())); r != StageResult::kOk) return r;
  carver.Release(mark);
  return StageResult::kOk;
}

size_t PlainPath::ScratchBytes(size_t bytes) const {
  size_t total = 0;
  const auto aligned = [&](size_t n) { total += Aligned(n) + Aligned(n * sizeof(uint32_t)); };
  if (steps_.empty() || !std::holds_alternative<PrecompiledStep>(steps_[0])) aligned(bytes *= kUnknownBytes);
  for (const Step& step : steps_) {
    bytes = std::visit([&](const auto& s) { return s.MaxBytes(bytes); }, step);
    aligned(bytes);
  }
  total += Aligned(sizeof(PreToken));
  size_t ranges = 1;
  for (const SplitStep& step : splits_) {
    if (const auto* metaspace = std::get_if<MetaspaceStep>(&step)) {
      bytes = metaspace->MaxBytes(bytes, ranges);
      aligned(bytes);
      ranges = MaxPreTokens(bytes);
    } else {
      ranges = MaxPreTokens(bytes) / 2 + 1;
    }
    total += Aligned(MaxPreTokens(bytes) * sizeof(PreToken));
  }
  return total + Aligned((bytes + 1) * sizeof(LatticeNode)) + Aligned(bytes * sizeof(PieceSpan));
}

size_t PlainPath::MaxTokens(size_t bytes) const {
  size_t characters = bytes;  // malformed bytes are one each
  for (const Step& step : steps_) {
    characters = std::visit([&](const auto& s) { return s.MaxCharacters(bytes, characters); }, step);
    bytes = std::visit([&](const auto& s) { return s.MaxBytes(bytes); }, step);
  }
  // Each token covers a character or a marker put in front of a pre-token. Cut
  // by blanks there are no more pre-tokens than blanks and one; cut by added
  // tokens or more markers, no more than characters.
  const auto markers = static_cast<size_t>(std::count_if(splits_.begin(), splits_.end(), [](const SplitStep& step) {
    return std::holds_alternative<MetaspaceStep>(step);
  }));
  const size_t more = (markers > 1 ? markers - 1 : 0) + (normalized_matcher_.empty() ? 0 : 1);
  return characters * (1 + more) + 1;
}

}  // namespace trellis::internal
