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
#include <variant>
#include <vector>

#include "src/trie/table_memory.h"
#include "trellis/internal/stage/added_tokens.h"
#include "trellis/internal/stage/normalizer.h"
#include "trellis/internal/stage/pre_tokenizer.h"
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
  // `spec` must be valid and outlive this object.
  PlainPath(const TokenizerSpec& spec, const TokenizerOptions& options);

  // Appends the segment's tokens to `sink`. Takes scratch and gives it back.
  StageResult Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver, TokenSink& sink) const;

  // Enough scratch for a segment of so many bytes.
  size_t ScratchBytes(size_t bytes) const;
  // No segment of so many bytes has more tokens.
  size_t MaxTokens(size_t bytes) const;

  // --- the stages, for whoever wants to look (explain) ---

  struct Normalized {
    AlignedView text;
    size_t room;  // bytes of the buffer it lies in
  };
  // nullopt: scratch is too small.
  std::optional<Normalized> Normalize(const TextSegment& segment, ScratchCarver& carver) const;
  struct PreTokens {
    AlignedView text;
    std::span<const PreToken> ranges;
  };
  // `part` of the normalized text, between normalized added tokens.
  std::optional<PreTokens> PreTokenize(const AlignedView& text, uint32_t begin, uint32_t end,
                                       uint32_t source_begin, ScratchCarver& carver) const;
  // Pieces of one pre-token; `result` says how it went.
  std::span<const PieceSpan> Lattice(std::string_view pre_token, MatchSpecial special, ScratchCarver& carver,
                                     StageResult& result) const;
  const AddedTokenMatcher& normalized_matcher() const { return normalized_matcher_; }

  // Bytes of the caller's text that the normalized bytes [begin, end) stand for.
  static Offset SourceRange(std::string_view source, const AlignedView& text, uint32_t begin, uint32_t end);

  // The byte trie is built at the first use, or before: a tokenizer with
  // shortcuts has no other use for it than explain's.
  void BuildTrie() const;
  size_t TrieBytes() const;
  size_t TrieHugeBytes() const;
  const UnigramScores& scores() const { return scores_; }
  // Whether match_special_tokens = false keeps this piece out of text.
  bool IsShielded(TokenId id) const { return static_cast<size_t>(id) < special_.size() && special_[static_cast<size_t>(id)]; }

 private:
  using Step = std::variant<PrecompiledStep, ReplaceStep>;
  using SplitStep = std::variant<std::monostate, MetaspaceStep>;  // monostate: WhitespaceSplit

  StageResult RunPart(const TextSegment& segment, const AlignedView& text, uint32_t begin, uint32_t end,
                      uint32_t source_begin, MatchSpecial special, ScratchCarver& carver, TokenSink& sink) const;
  template <typename Allowed>
  size_t RunLattice(std::string_view text, std::span<LatticeNode> lattice, std::span<PieceSpan> out,
                    Allowed allowed) const;

  const TokenizerSpec& spec_;
  TokenizerOptions options_;
  std::vector<Step> steps_;
  std::vector<SplitStep> splits_;
  AddedTokenMatcher normalized_matcher_;
  std::vector<double> score_by_id_;
  std::vector<bool> special_;  // pieces that the shield keeps out of the lattice
  UnigramScores scores_;
  mutable std::once_flag once_;
  mutable Table<BitmapTrieNode> bitmap_;
  mutable Table<DoubleArrayUnit> double_array_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_PLAIN_PATH_H_
