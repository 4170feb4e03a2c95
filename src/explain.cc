#include "trellis/internal/explain.h"

#include "src/tokenizer_impl.h"

namespace trellis::internal {
namespace {

// One plain segment: fills its normalized text and appends the rows below it.
absl::Status ExplainSegment(const PlainPath& path, const Vocab& vocab, const TextSegment& source, MatchSpecial special,
                            size_t index, Explanation& out) {
  Scratch scratch;
  scratch.Reserve(path.ScratchBytes(source.text().size()));
  ScratchCarver carver(scratch);
  const auto normalized = path.Normalize(source, carver);
  if (!normalized) return absl::ResourceExhaustedError("");
  const AlignedView& text = *normalized;
  out.segments[index].normalized = std::string(text.bytes);
  out.segments[index].source.assign(text.source, text.source + text.bytes.size());

  const auto row = [&](const AlignedView& view, uint32_t begin, uint32_t end) {
    const Offset range = PlainPath::SourceRange(source.source, view, begin, end);
    out.pre_tokens.push_back({index, std::string(view.bytes.substr(begin, end - begin)), range.begin, range.end});
    return range;
  };
  const auto part = [&](uint32_t begin, uint32_t end) -> absl::Status {
    if (begin >= end) return absl::OkStatus();
    // Scratch is for one part at a time.
    const size_t part_mark = carver.mark();
    const auto pre_tokens = path.PreTokenize(text, begin, end, carver);
    if (!pre_tokens) return absl::ResourceExhaustedError("");
    for (const PreToken& pre_token : pre_tokens->ranges) {
      row(pre_tokens->text, pre_token.begin, pre_token.end);
      const std::string_view bytes = pre_tokens->text.bytes.substr(pre_token.begin, pre_token.end - pre_token.begin);
      const auto add = [&](uint32_t piece_begin, uint32_t piece_end, TokenId id) {
        const Offset range = PlainPath::SourceRange(source.source, pre_tokens->text, pre_token.begin + piece_begin,
                                                    pre_token.begin + piece_end);
        const bool unknown = path.scores().unk_id == id;
        out.pieces.push_back({out.pre_tokens.size() - 1, std::string(bytes.substr(piece_begin, piece_end - piece_begin)),
                              id, unknown ? path.scores().unk_score : vocab.Score(id), range.begin, range.end});
        return true;
      };
      if (path.RunLattice(bytes, special, carver, add) != StageResult::kOk) return absl::InvalidArgumentError("");
    }
    carver.Release(part_mark);
    return absl::OkStatus();
  };
  uint32_t begin = 0;
  AddedTokenMatcher::Pass pass(path.normalized_matcher(), text.bytes, special);
  AddedTokenMatch match;
  while (!path.normalized_matcher().empty() && pass.Next(match)) {
    if (absl::Status status = part(begin, static_cast<uint32_t>(match.begin)); !status.ok()) return status;
    begin = static_cast<uint32_t>(match.end);
    const Offset range = row(text, static_cast<uint32_t>(match.begin), begin);
    out.pieces.push_back({out.pre_tokens.size() - 1, out.pre_tokens.back().text, match.id, 0.0, range.begin, range.end});
  }
  return part(begin, static_cast<uint32_t>(text.bytes.size()));
}

// The same in the SentencePiece dialect, where the whole text is one pre-token.
absl::Status ExplainSentencePiece(const SentencePiecePipeline& path, const TextSegment& source, MatchSpecial special,
                                  size_t index, Explanation& out) {
  Scratch scratch;
  scratch.Reserve(path.ScratchBytes(source.text().size()));
  ScratchCarver carver(scratch);
  const auto best = path.FindPath(source.text(), special, carver);
  if (!best) return absl::ResourceExhaustedError("");
  const std::string_view text = best->normalized;
  const auto at = [&](size_t i) { return source.begin + best->alignment[i]; };
  out.segments[index].normalized = std::string(text);
  for (size_t i = 0; i < text.size(); ++i) out.segments[index].source.push_back(at(i));
  if (text.empty()) return absl::OkStatus();
  out.pre_tokens.push_back({index, std::string(text), at(0), at(text.size())});
  const SentencePieceScores& model = path.scores();
  for (uint32_t begin = 0; begin < text.size();) {
    const uint32_t end = best->nodes[begin].link;
    const TokenId id = best->nodes[end].id;
    const double score = id == model.unk_id ? model.unk_score : model.scores[static_cast<size_t>(id)];
    out.pieces.push_back({out.pre_tokens.size() - 1, std::string(text.substr(begin, end - begin)), id, score, at(begin), at(end)});
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Explanation> Explain(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options) {
  const Tokenizer::Impl& impl = tokenizer.impl();
  const MatchSpecial special = MatchSpecialOf(options);
  Explanation out;
  auto tokens = tokenizer.Encode(Input{text}, options);
  if (!tokens.ok()) return tokens.status();
  out.tokens = *std::move(tokens);

  size_t begin = 0;
  const auto plain = [&](size_t end) -> absl::Status {
    if (begin >= end) return absl::OkStatus();
    out.segments.push_back({begin, end, kNoPiece, "", {}});
    const TextSegment segment{text, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    if (impl.sentencepiece() != nullptr) {
      return ExplainSentencePiece(*impl.sentencepiece(), segment, special, out.segments.size() - 1, out);
    }
    return ExplainSegment(impl.plain_path(), tokenizer.vocab(), segment, special, out.segments.size() - 1, out);
  };
  AddedTokenMatcher::Pass pass(impl.raw_matcher(), text, special);
  AddedTokenMatch match;
  while (!impl.raw_matcher().empty() && pass.Next(match)) {
    if (absl::Status status = plain(match.begin); !status.ok()) return status;
    out.segments.push_back({match.begin, match.end, match.id, "", {}});
    begin = match.end;
  }
  if (absl::Status status = plain(text.size()); !status.ok()) return status;
  return out;
}

}  // namespace trellis::internal
