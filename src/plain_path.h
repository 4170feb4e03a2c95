// PlainPath: a plain segment's way through normalizer, pre-tokenizer and
// lattice, stage by stage and without shortcuts. The definition of right that
// every shortcut is tested against, and the way of specs that allow none.
#ifndef TRELLIS_SRC_PLAIN_PATH_H_
#define TRELLIS_SRC_PLAIN_PATH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/normalizer_chain.h"
#include "src/piece_list.h"
#include "src/pre_tokenizer_chain.h"
#include "src/trie/table_memory.h"
#include "trellis/internal/stage/added_tokens.h"
#include "trellis/internal/stage/byte_fallback.h"
#include "trellis/internal/stage/token_sink.h"
#include "trellis/internal/stage/unigram.h"
#include "trellis/internal/trie/bitmap_trie.h"
#include "trellis/internal/trie/double_array_trie.h"
#include "trellis/scratch.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis::internal {

// A piece of the caller's text between raw added tokens.
struct TextSegment {
  std::string_view source;  // the caller's whole text
  uint32_t begin;
  uint32_t end;
  std::string_view text() const { return source.substr(begin, end - begin); }
};

class PlainPath {
 public:
  // What a compiled file holds of the byte trie and of what the shield keeps out.
  struct Stored {
    Table<BitmapTrieNode> trie;  // empty: built when it is needed
    std::vector<TokenId> shielded;
  };

  // `spec` must be valid, `pieces` its pieces; both must outlive this object.
  PlainPath(const TokenizerSpec& spec, const PieceList& pieces, const TokenizerOptions& options, Stored* stored);

  // Appends the segment's tokens to `sink`. Takes scratch and gives it back.
  StageResult Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver, TokenSink& sink) const;

  // The same of a part of `segment` that is normalized already.
  StageResult RunNormalized(const TextSegment& segment, const AlignedView& text, MatchSpecial special,
                            ScratchCarver& carver, TokenSink& sink) const;

  // Enough scratch for a segment of so many bytes.
  size_t ScratchBytes(size_t bytes) const;
  // No segment of so many bytes has more tokens.
  size_t MaxTokens(size_t bytes) const;

  // --- the stages, for whoever wants to look (explain) ---

  // nullopt: scratch is too small.
  std::optional<AlignedView> Normalize(const TextSegment& segment, ScratchCarver& carver) const;
  using PreTokens = PreTokenizerChain::PreTokens;
  // Bytes [begin, end) of the normalized text, between normalized added tokens.
  std::optional<PreTokens> PreTokenize(const AlignedView& text, uint32_t begin, uint32_t end,
                                       ScratchCarver& carver) const;
  // Finds the best path through one pre-token, and calls f(begin, end, id) for its pieces until one returns false.
  template <typename F>
  StageResult RunLattice(std::string_view pre_token, MatchSpecial special, ScratchCarver& carver, F&& f) const;
  const AddedTokenMatcher& normalized_matcher() const { return normalized_matcher_; }

  // Bytes of the caller's text that the normalized bytes [begin, end) stand for.
  static Offset SourceRange(std::string_view source, const AlignedView& text, uint32_t begin, uint32_t end);

  // The byte trie is built at the first use, or before: a tokenizer with
  // shortcuts has no other use for it than explain's.
  void BuildTrie() const;
  size_t TrieBytes() const;
  size_t TrieHugeBytes() const;
  // Empty while there is none of this kind.
  const Table<BitmapTrieNode>& bitmap_trie() const { return bitmap_; }
  const UnigramScores& scores() const { return scores_; }
  const NormalizerChain& normalizers() const { return normalizers_; }
  // Whether match_special_tokens = false keeps this piece out of text.
  bool IsShielded(TokenId id) const { return static_cast<size_t>(id) < special_.size() && special_[static_cast<size_t>(id)]; }
  std::vector<TokenId> ShieldedIds() const;

 private:
  StageResult RunPart(const TextSegment& segment, const AlignedView& text, uint32_t begin, uint32_t end,
                      MatchSpecial special, ScratchCarver& carver, TokenSink& sink) const;
  std::optional<ByteFallback> MakeByteFallback() const;
  void FindShielded();
  StageResult FindPath(std::string_view pre_token, MatchSpecial special, std::span<LatticeNode> nodes) const;

  const TokenizerSpec& spec_;
  const PieceList& pieces_;
  TokenizerOptions options_;
  NormalizerChain normalizers_;
  PreTokenizerChain pre_tokenizers_;
  std::optional<ByteFallback> byte_fallback_;  // where the model has it
  AddedTokenMatcher normalized_matcher_;
  std::vector<double> score_by_id_;  // where the pieces have no column of them
  std::vector<bool> special_;  // pieces that the shield keeps out of the lattice
  UnigramScores scores_;
  mutable std::once_flag once_;
  mutable Table<BitmapTrieNode> bitmap_;
  mutable Table<DoubleArrayUnit> double_array_;
};

template <typename F>
StageResult PlainPath::RunLattice(std::string_view pre_token, MatchSpecial special, ScratchCarver& carver, F&& f) const {
  const size_t mark = carver.mark();
  const auto nodes = carver.Take<LatticeNode>(pre_token.size() + 1);
  if (nodes.empty()) return StageResult::kNoRoom;
  if (const StageResult r = FindPath(pre_token, special, nodes); r != StageResult::kOk) return r;
  const auto allowed = [&](TokenId id) { return special != MatchSpecial::kNo || !special_[static_cast<size_t>(id)]; };
  bool goes_on = true;
  ForEachUnigramPiece(nodes, static_cast<uint32_t>(pre_token.size()), [&](uint32_t begin, uint32_t end, TokenId id) {
    const std::string_view run = pre_token.substr(begin, end - begin);
    if (!byte_fallback_ || !byte_fallback_->Falls(run, id, allowed)) {
      goes_on = goes_on && f(begin, end, id);
      return;
    }
    for (const char byte : run) goes_on = goes_on && f(begin, end, byte_fallback_->Id(byte));
  });
  carver.Release(mark);
  return goes_on ? StageResult::kOk : StageResult::kNoRoom;
}

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_PLAIN_PATH_H_
