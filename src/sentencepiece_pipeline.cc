#include "src/sentencepiece_pipeline.h"

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <utility>
#include <variant>

#include "src/trie/trie_builder.h"
#include "trellis/internal/text/charsmap.h"

namespace trellis::internal {
namespace {

const SentencePieceNormalizer& NormalizerOf(const TokenizerSpec& spec) {
  return std::get<SentencePieceNormalizer>(spec.normalizers.front());
}

CharsMap CharsMapOf(const std::string& blob) { return blob.empty() ? CharsMap() : CharsMap(blob); }

PageSize PagesOf(const TokenizerOptions& options) {
  return options.huge_pages ? PageSize::kHuge : PageSize::kDefault;
}

// Keys of the pieces whose type is one of `types`.
std::vector<TrieKey> KeysOf(const PieceList& pieces, std::initializer_list<PieceType> types) {
  std::vector<TrieKey> keys;
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (std::find(types.begin(), types.end(), pieces.type(id)) == types.end()) continue;
    const PieceView piece = pieces[id];
    keys.push_back({piece.text, static_cast<TokenId>(id), piece.score});
  }
  return keys;
}

Table<BitmapTrieNode> UserDefinedNodes(const PieceList& pieces) {
  const std::vector<TrieKey> keys = KeysOf(pieces, {PieceType::kUserDefined});
  return keys.empty() ? Table<BitmapTrieNode>() : BuildBitmapTrie(keys, PageSize::kDefault);
}

// "<0xHH>"; the spec has been checked.
uint8_t ByteValue(std::string_view piece) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c & ~0x20) - 'A' + 10; };
  return static_cast<uint8_t>(digit(piece[3]) * 16 + digit(piece[4]));
}

// The denormalizer only applies its rules.
constexpr SentencePieceBlanks kLeaveBlanks = {.add_dummy_prefix = false,
                                              .remove_extra_whitespaces = false,
                                              .escape_whitespaces = false,
                                              .treat_whitespace_as_suffix = false};

// Rewrites the first `text_bytes` of `out`: they move to its end and come back
// to the front. nullopt when there is too little room between.
std::optional<size_t> DenormalizeInPlace(const SentencePieceRewriter& rewriter, size_t text_bytes,
                                         std::span<char> out) {
  if (text_bytes == 0) return 0;
  const std::span<char> front = out.first(out.size() - text_bytes);
  std::memmove(out.data() + front.size(), out.data(), text_bytes);
  const std::string_view text(out.data() + front.size(), text_bytes);
  return NormalizeSentencePiece(rewriter, kLeaveBlanks, text, {.bytes = front});
}

template <typename T>
size_t Carved(size_t count) {
  return count * sizeof(T) + ScratchCarver::kAlign;
}

}  // namespace

SentencePiecePipeline::SentencePiecePipeline(const TokenizerSpec& spec, const PieceList& pieces,
                                             const TokenizerOptions& options, Table<BitmapTrieNode> trie)
    : model_(spec.model),
      pieces_(pieces),
      blanks_{NormalizerOf(spec).add_dummy_prefix, NormalizerOf(spec).remove_extra_whitespaces,
              NormalizerOf(spec).escape_whitespaces, NormalizerOf(spec).treat_whitespace_as_suffix},
      join_{blanks_.add_dummy_prefix, blanks_.remove_extra_whitespaces, spec.model.unk_surface},
      user_defined_nodes_(UserDefinedNodes(pieces)),
      user_defined_(user_defined_nodes_.size() == 0 ? std::nullopt
                                                    : std::optional<BitmapTrie>(user_defined_nodes_.span())),
      rewriter_(CharsMapOf(NormalizerOf(spec).charsmap), user_defined_ ? &*user_defined_ : nullptr),
      options_(options),
      bitmap_(std::move(trie)) {
  if (!spec.decoders.empty()) {
    if (const auto* decoder = std::get_if<SentencePieceDecoder>(&spec.decoders.front());
        decoder != nullptr && !decoder->denormalizer_charsmap.empty()) {
      denormalizer_.emplace(CharsMap(decoder->denormalizer_charsmap), nullptr);
    }
  }

  float lowest_normal = FLT_MAX;
  piece_scores_.reserve(pieces.size());
  byte_values_.resize(pieces.size());
  if (model_.byte_fallback) byte_ids_.resize(256, kNoPiece);
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceView piece = pieces[id];
    const auto score = static_cast<float>(piece.score);
    if (piece.type == PieceType::kNormal) lowest_normal = std::min(lowest_normal, score);
    piece_scores_.push_back(piece.type == PieceType::kUserDefined ? UserDefinedScore(piece.text.size()) : score);
    if (piece.type == PieceType::kByte) {
      byte_values_[id] = ByteValue(piece.text);
      byte_ids_[byte_values_[id]] = static_cast<TokenId>(id);
    }
  }
  scores_ = {piece_scores_, UnknownScore(lowest_normal), model_.unk_id.value_or(kNoPiece), byte_ids_};

  for (const AddedToken& token : spec.added_tokens) {
    const auto id = static_cast<size_t>(token.id);
    if (!token.special || id >= pieces.size()) continue;
    const PieceType type = pieces.type(id);
    if (type != PieceType::kNormal && type != PieceType::kUserDefined && type != PieceType::kByte) continue;
    shielded_.resize(pieces.size(), false);
    shielded_[id] = true;
  }
}

void SentencePiecePipeline::BuildTrie() const {
  std::call_once(once_, [this] {
    if (bitmap_.size() != 0) return;  // a compiled file's
    // Unused pieces are never chosen, control and unknown ones never matched, byte
    // pieces only spell the unknown: none of them is in the lattice.
    const std::vector<TrieKey> keys = KeysOf(pieces_, {PieceType::kNormal, PieceType::kUserDefined});
    if (options_.trie == TokenizerOptions::TrieKind::kDoubleArray) {
      double_array_ = BuildDoubleArrayTrie(keys, PagesOf(options_));
    } else {
      bitmap_ = BuildBitmapTrie(keys, PagesOf(options_));
    }
  });
}

size_t SentencePiecePipeline::ScratchBytes(size_t text_bytes) const {
  const size_t most = MaxNormalizedBytes(rewriter_, text_bytes);
  return Carved<char>(most) + Carved<uint32_t>(most + 1) + Carved<SentencePieceNode>(most + 1);
}

size_t SentencePiecePipeline::MaxTokens(size_t text_bytes) const {
  // A token has at least a character, with byte pieces a byte; the dummy blank
  // counts once a byte of text, so that the bounds of two texts add up.
  if (model_.byte_fallback) return text_bytes * (rewriter_.max_expansion() + kMetaSpace.size());
  return text_bytes * (rewriter_.max_characters() + 1);
}

StageResult SentencePiecePipeline::Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver,
                                       TokenSink& sink) const {
  const size_t mark = carver.mark();
  const std::optional<SentencePiecePath> path = FindPath(segment.text(), special, carver);
  if (!path.has_value()) return StageResult::kNoRoom;
  bool fits = true, has_unk = true;
  ForEachSentencePieceToken(scores_, path->normalized, path->nodes, path->alignment,
                            [&](TokenId id, uint32_t begin, uint32_t end) {
                              // Byte pieces spell the unknown, without a lattice.
                              if (special == MatchSpecial::kNo && IsShielded(id)) id = scores_.unk_id;
                              has_unk = has_unk && id != kNoPiece;
                              fits = fits && sink.Push(id, {segment.begin + begin, segment.begin + end});
                            });
  carver.Release(mark);
  if (!has_unk) return StageResult::kNoUnk;
  return fits ? StageResult::kOk : StageResult::kNoRoom;
}

template <typename Trie>
void SentencePiecePipeline::RunLattice(const Trie& trie, std::string_view text, MatchSpecial special,
                                       std::span<SentencePieceNode> nodes) const {
  if (special != MatchSpecial::kNo || !HasShielded()) return RunSentencePieceUnigram(trie, scores_, text, nodes);
  RunSentencePieceUnigram(trie, scores_, text, nodes, [this](TokenId id) { return !IsShielded(id); });
}

std::optional<SentencePiecePath> SentencePiecePipeline::FindPath(std::string_view text, MatchSpecial special,
                                                                 ScratchCarver& carver) const {
  if (text.empty()) return SentencePiecePath{};
  BuildTrie();
  const size_t most = MaxNormalizedBytes(rewriter_, text.size());
  const std::span<char> bytes = carver.Take<char>(most);
  const std::span<uint32_t> alignment = carver.Take<uint32_t>(most + 1);
  if (bytes.empty() || alignment.empty()) return std::nullopt;
  const std::optional<size_t> size =
      NormalizeSentencePiece(rewriter_, blanks_, text, {.bytes = bytes, .alignment = alignment});
  if (!size.has_value()) return std::nullopt;

  const std::span<SentencePieceNode> nodes = carver.Take<SentencePieceNode>(*size + 1);
  if (nodes.empty()) return std::nullopt;
  const std::string_view normalized(bytes.data(), *size);
  if (bitmap_.size() != 0) {
    RunLattice(BitmapTrie(bitmap_.span()), normalized, special, nodes);
  } else {
    RunLattice(DoubleArrayTrie(double_array_.span()), normalized, special, nodes);
  }
  return SentencePiecePath{normalized, alignment.first(*size + 1), nodes};
}

SentencePieceLattice SentencePiecePipeline::Lattice(std::string_view normalized) const {
  BuildTrie();
  const auto size = static_cast<uint32_t>(normalized.size());
  SentencePieceLattice lattice(size);
  const auto insert = [&](const auto& trie) {
    for (uint32_t begin = 0; begin < size;) {
      const uint32_t character = std::min(SentencePieceCharacter(normalized[begin]), size - begin);
      bool has_single = false;
      auto node = trie.root();
      // A piece that ends inside a character (of malformed bytes) counts to its end.
      uint32_t boundary = begin;
      size_t characters = 0;
      for (uint32_t end = begin; end < size && trie.Step(node, static_cast<uint8_t>(normalized[end]));) {
        ++end;
        if (end > boundary) {
          boundary += std::min(SentencePieceCharacter(normalized[boundary]), size - boundary);
          ++characters;
        }
        const TokenId id = trie.Id(node);
        if (id == kNoPiece) continue;
        const bool user_defined = pieces_.type(static_cast<size_t>(id)) == PieceType::kUserDefined;
        const float score = scores_.scores[static_cast<size_t>(id)];
        lattice.Insert(begin, boundary, id, user_defined ? UserDefinedScore(characters) : score);
        has_single |= characters == 1;
      }
      if (!has_single) lattice.Insert(begin, begin + character, scores_.unk_id, scores_.unk_score);
      begin += character;
    }
  };
  if (bitmap_.size() != 0) {
    insert(BitmapTrie(bitmap_.span()));
  } else {
    insert(DoubleArrayTrie(double_array_.span()));
  }
  lattice.Finish();
  return lattice;
}

SentencePieceShown SentencePiecePipeline::Shown(TokenId id, Controls controls) const {
  using As = SentencePieceShown::As;
  if (id < 0 || static_cast<size_t>(id) >= pieces_.size()) return {};
  const PieceView piece = pieces_[static_cast<size_t>(id)];
  switch (piece.type) {
    case PieceType::kControl: return {controls == Controls::kSpellOut ? As::kText : As::kNothing, piece.text};
    case PieceType::kUnknown: return {As::kUnknown, piece.text};
    case PieceType::kByte: return {As::kByte, piece.text, byte_values_[static_cast<size_t>(id)]};
    default: return {As::kText, piece.text};
  }
}

std::optional<std::string_view> SentencePiecePipeline::Decode(std::span<const TokenId> ids, Controls controls,
                                                              std::span<char> out) const {
  std::optional<size_t> size =
      JoinSentencePieces(join_, ids, [&](TokenId id) { return Shown(id, controls); }, out);
  if (size.has_value() && denormalizer_.has_value()) size = DenormalizeInPlace(*denormalizer_, *size, out);
  if (!size.has_value()) return std::nullopt;
  return std::string_view(out.data(), *size);
}

size_t SentencePiecePipeline::DecodedBytes(std::span<const TokenId> ids) const {
  size_t bytes = 0;
  for (const TokenId id : ids) bytes += ShownBytes(join_, Shown(id, Controls::kSpellOut));
  return denormalizer_.has_value() ? bytes + MaxNormalizedBytes(*denormalizer_, bytes) : bytes;
}

}  // namespace trellis::internal
