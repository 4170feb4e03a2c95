// Tokenizer::Impl: one tokenizer's tables and the order of its stages.
#ifndef TRELLIS_SRC_TOKENIZER_IMPL_H_
#define TRELLIS_SRC_TOKENIZER_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/compiled_tokenizer.h"
#include "src/piece_list.h"
#include "src/plain_path.h"
#include "src/sentencepiece_pipeline.h"
#include "src/vocab_table.h"
#include "src/word_path.h"
#include "trellis/internal/stage/added_tokens.h"
#include "trellis/internal/stage/decoder.h"
#include "trellis/internal/stage/decoder_chain.h"
#include "trellis/internal/stage/post_processor.h"
#include "trellis/internal/stage/truncation.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace internal {

// A status without a message does not allocate.
inline absl::Status CodeOnly(absl::StatusCode code) { return absl::Status(code, ""); }

inline MatchSpecial MatchSpecialOf(const EncodeOptions& options) {
  if (!options.match_special_tokens) return MatchSpecial::kNo;
  return options.encode_special_tokens ? MatchSpecial::kPassOver : MatchSpecial::kYes;
}

// Offsets are 32 bits.
inline constexpr size_t kMaxTextBytes = std::numeric_limits<uint32_t>::max();

// A column that is wanted at all is long enough.
inline bool ColumnFits(size_t column, size_t needed) { return column == 0 || column >= needed; }
inline bool ColumnsFit(const EncodingBuffer& buffer) {
  const size_t ids = buffer.ids.size();
  return ColumnFits(buffer.offsets.size(), ids) && ColumnFits(buffer.type_ids.size(), ids) &&
         ColumnFits(buffer.special_tokens_mask.size(), ids);
}

// The used front of the buffer.
inline Encoding Written(const EncodingBuffer& buffer, size_t tokens, size_t rows, size_t num_truncated) {
  const auto front = [](const auto& column, size_t size) { return column.first(column.empty() ? 0 : size); };
  return {buffer.ids.first(tokens), front(buffer.offsets, tokens), front(buffer.type_ids, tokens),
          front(buffer.special_tokens_mask, tokens), front(buffer.cu_seqlens, rows + 1), num_truncated};
}

}  // namespace internal

class Tokenizer::Impl {
 public:
  Impl(TokenizerSpec spec, const TokenizerOptions& options);
  // Of a compiled file's tables; an error where those of the word path are unsound.
  static absl::StatusOr<Tokenizer> OfStored(internal::StoredTokenizer stored, const TokenizerOptions& options);

  absl::StatusOr<Encoding> Encode(std::span<const Input> inputs, const EncodeOptions& options, Scratch& scratch,
                                  const EncodingBuffer& buffer) const;
  absl::StatusOr<Encoding> EncodeWindows(const Input& input, const EncodeOptions& options, Scratch& scratch,
                                         const EncodingBuffer& buffer, WindowRoom& needed) const;
  absl::StatusOr<std::string_view> Decode(std::span<const TokenId> ids, const DecodeOptions& options,
                                          std::span<char> out) const;
  size_t DecodedBytes(std::span<const TokenId> ids) const;
  // Whether Decode looks at this id at all. (SentencePiece's looks at each: one
  // that leaves no text still ends a run of bytes.)
  bool LeavesText(TokenId id, const DecodeOptions& options) const {
    if (sentencepiece_ != nullptr) return true;
    return vocab_.Has(id) && !(options.skip_special_tokens && vocab_.IsSpecial(id));
  }
  size_t ScratchBytes(size_t input_bytes) const;
  size_t MaxTokens(size_t input_bytes) const;
  std::vector<TableFact> Facts() const;

  const TokenizerSpec& spec() const;
  // spec() but for the pieces, which may not be there.
  const TokenizerSpec& spec_without_pieces() const { return spec_; }
  const internal::VocabTable& vocab() const { return vocab_; }
  const internal::PlainPath& plain_path() const { return plain_; }
  // Null in the Hugging Face dialect.
  const internal::SentencePiecePipeline* sentencepiece() const { return sentencepiece_.get(); }
  const internal::AddedTokenMatcher& raw_matcher() const { return raw_matcher_; }
  // Adds the sections of a compiled file, as views of the tables.
  void Save(internal::CompiledWriter& writer) const;

 private:
  Impl(internal::StoredTokenizer stored, const TokenizerOptions& options, absl::Status& status);
  void FindObstacle(const TokenizerOptions& options, const std::optional<std::string>& obstacle);
  void BuildTries();
  void BuildDecoders();
  absl::StatusOr<std::string_view> DecodeTokens(std::span<const TokenId> ids, const DecodeOptions& options,
                                                std::span<char> out) const;
  size_t MaxTextTokens(size_t bytes) const;
  // Tables of SentencePiece's words know nothing of pieces to be left out.
  bool ShieldNeedsPlain() const { return sentencepiece_ != nullptr && sentencepiece_->HasShielded(); }
  // Appends one text's tokens to `sink`.
  internal::StageResult EncodeText(std::string_view text, const EncodeOptions& options, ScratchCarver& carver,
                                   internal::WordCache::Memory* cache, internal::TokenSink& sink) const;
  // Where words are cached: the first thing in scratch. Null where there is no
  // word path, or no room for it.
  internal::WordCache::Memory* TakeCache(ScratchCarver& carver) const;

  // --- src/tokenizer_rows.cc ---

  // Both texts of an input, or the one, as tokens in scratch; and what truncation
  // makes of them.
  struct TokenizedTexts {
    std::span<TokenId> ids[2] = {};
    std::span<Offset> offsets[2] = {};
    internal::TextWindows windows[2];
  };
  absl::StatusCode TokenizeTexts(const Input& input, const EncodeOptions& options, const EncodingBuffer& buffer,
                                 ScratchCarver& carver, internal::WordCache::Memory* cache,
                                 TokenizedTexts& texts) const;
  // Writes one row at `at` of the buffer's columns; `size` becomes its length.
  absl::StatusCode EncodeRow(const Input& input, const EncodeOptions& options, ScratchCarver& carver,
                             internal::WordCache::Memory* cache, const EncodingBuffer& buffer, size_t at, size_t& size,
                             size_t& num_truncated) const;
  // The template around what `write_text(i, sink)` writes of text i.
  template <typename WriteText>
  absl::StatusCode WriteRow(const Input& input, const EncodeOptions& options, const EncodingBuffer& buffer, size_t at,
                            size_t& size, const WriteText& write_text) const;
  absl::StatusCode WriteWindow(const Input& input, const EncodeOptions& options, const TokenizedTexts& texts,
                               const size_t (&window)[2], const EncodingBuffer& buffer, size_t at, size_t& size) const;
  bool CutsNothing(const EncodeOptions& options, internal::PostProcessor::Shape shape) const;
  void TrimOffsets(std::string_view text, std::span<const TokenId> ids, std::span<Offset> offsets) const;

  std::optional<internal::CompiledFile> file_;  // tables may be views of it
  TokenizerSpec spec_;                          // without pieces where there is a file
  internal::PieceList pieces_;
  mutable std::once_flag spec_once_;
  mutable std::optional<TokenizerSpec> whole_spec_;  // made when first asked for, where there is a file
  internal::VocabTable vocab_;
  internal::PlainPath plain_;
  std::unique_ptr<const internal::SentencePiecePipeline> sentencepiece_;  // instead of plain_, in its dialect
  // nullptr: the path without shortcuts serves, because of `obstacle_`.
  std::unique_ptr<internal::WordPath> words_;
  std::string obstacle_;
  uint64_t id_;  // of this tokenizer in this process, for the word cache
  internal::AddedTokenMatcher raw_matcher_;
  internal::PostProcessor post_processor_;
  // Neither: tokens joined by blanks.
  std::optional<internal::MetaspaceDecodeStep> metaspace_;  // the only decoder of most files
  std::optional<internal::DecoderChain> decoders_;
};

}  // namespace trellis

#endif  // TRELLIS_SRC_TOKENIZER_IMPL_H_
