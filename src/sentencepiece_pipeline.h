// SentencePiecePipeline: the SentencePiece dialect's tables and the order of its
// stages: normalizer, lattice, tokens; and back. src/tokenizer.cc picks it by the
// spec's dialect where the other dialect has PlainPath.
#ifndef TRELLIS_SRC_SENTENCEPIECE_PIPELINE_H_
#define TRELLIS_SRC_SENTENCEPIECE_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/piece_list.h"
#include "src/plain_path.h"
#include "src/sentencepiece_lattice.h"
#include "src/trie/table_memory.h"
#include "trellis/encoding.h"
#include "trellis/internal/stage/added_tokens.h"
#include "trellis/internal/stage/sentencepiece_decoder.h"
#include "trellis/internal/stage/sentencepiece_normalizer.h"
#include "trellis/internal/stage/sentencepiece_unigram.h"
#include "trellis/internal/stage/token_sink.h"
#include "trellis/internal/trie/bitmap_trie.h"
#include "trellis/internal/trie/double_array_trie.h"
#include "trellis/scratch.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis::internal {

// The best path through one text; views scratch.
struct SentencePiecePath {
  std::string_view normalized = {};
  std::span<const uint32_t> alignment = {};
  std::span<const SentencePieceNode> nodes = {};
};

class SentencePiecePipeline {
 public:
  // `spec` must be valid and of the SentencePiece dialect, `pieces` its pieces;
  // both must outlive this object. `trie` is a compiled file's; empty: it is built
  // when it is needed.
  SentencePiecePipeline(const TokenizerSpec& spec, const PieceList& pieces, const TokenizerOptions& options,
                        Table<BitmapTrieNode> trie);
  SentencePiecePipeline(const SentencePiecePipeline&) = delete;
  SentencePiecePipeline& operator=(const SentencePiecePipeline&) = delete;

  // Appends the segment's tokens to `sink`. Takes scratch and gives it back.
  StageResult Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver, TokenSink& sink) const;
  // Whether the shield keeps any piece out of text. Control pieces are never
  // matched in it; but a special added token can be a normal or user-defined one.
  bool HasShielded() const { return !shielded_.empty(); }

  // Enough scratch for a segment of so many bytes.
  size_t ScratchBytes(size_t text_bytes) const;
  // No segment of so many bytes has more tokens.
  size_t MaxTokens(size_t text_bytes) const;

  // Writes the text of `ids`; nullopt when `out` is too small. Ids that are no
  // pieces leave nothing. Whether control pieces are spelled out is the caller's
  // wish; SentencePiece itself never does.
  enum class Controls : uint8_t { kLeaveOut, kSpellOut };
  std::optional<std::string_view> Decode(std::span<const TokenId> ids, Controls controls, std::span<char> out) const;
  // Enough room for Decode.
  size_t DecodedBytes(std::span<const TokenId> ids) const;

  // --- the stages, for whoever wants to look (explain) ---

  // nullopt: scratch is too small.
  std::optional<SentencePiecePath> FindPath(std::string_view text, MatchSpecial special, ScratchCarver& carver) const;
  // All ways through a text that is normalized already. Allocates.
  SentencePieceLattice Lattice(std::string_view normalized) const;
  const SentencePieceScores& scores() const { return scores_; }
  const SentencePieceRewriter& rewriter() const { return rewriter_; }
  const SentencePieceBlanks& blanks() const { return blanks_; }

  // The trie is built at the first use, or before: where words have a path of
  // their own, hardly any text comes here.
  void BuildTrie() const;
  size_t TrieBytes() const { return bitmap_.bytes() + double_array_.bytes(); }
  // Empty while there is none of this kind.
  const Table<BitmapTrieNode>& bitmap_trie() const { return bitmap_; }
  size_t TrieHugeBytes() const { return bitmap_.HugeBytes() + double_array_.HugeBytes(); }

 private:
  SentencePieceShown Shown(TokenId id, Controls controls) const;
  bool IsShielded(TokenId id) const { return static_cast<size_t>(id) < shielded_.size() && shielded_[static_cast<size_t>(id)]; }
  template <typename Trie>
  void RunLattice(const Trie& trie, std::string_view text, MatchSpecial special, std::span<SentencePieceNode> nodes) const;

  const UnigramModel& model_;
  const PieceList& pieces_;
  SentencePieceBlanks blanks_;
  SentencePieceJoin join_;
  Table<BitmapTrieNode> user_defined_nodes_;
  std::optional<BitmapTrie> user_defined_;
  SentencePieceRewriter rewriter_;
  std::optional<SentencePieceRewriter> denormalizer_;
  TokenizerOptions options_;
  mutable std::once_flag once_;
  mutable Table<BitmapTrieNode> bitmap_;
  mutable Table<DoubleArrayUnit> double_array_;
  std::vector<float> piece_scores_;
  std::vector<TokenId> byte_ids_;
  std::vector<uint8_t> byte_values_;  // by id; only of byte pieces
  std::vector<bool> shielded_;        // by id; empty: none
  SentencePieceScores scores_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_SENTENCEPIECE_PIPELINE_H_
