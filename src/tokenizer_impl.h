// Tokenizer::Impl: one tokenizer's tables and the order of its stages.
#ifndef TRELLIS_SRC_TOKENIZER_IMPL_H_
#define TRELLIS_SRC_TOKENIZER_IMPL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/plain_path.h"
#include "src/sentencepiece_pipeline.h"
#include "src/vocab_table.h"
#include "src/word_path.h"
#include "trellis/internal/stage/added_tokens.h"
#include "trellis/internal/stage/decoder.h"
#include "trellis/internal/stage/post_processor.h"
#include "trellis/tokenizer.h"

namespace trellis {

class Tokenizer::Impl {
 public:
  Impl(TokenizerSpec spec, const TokenizerOptions& options);

  absl::StatusOr<Encoding> Encode(std::span<const Input> inputs, const EncodeOptions& options, Scratch& scratch,
                                  const EncodingBuffer& buffer) const;
  absl::StatusOr<std::string_view> Decode(std::span<const TokenId> ids, const DecodeOptions& options,
                                          std::span<char> out) const;
  size_t DecodedBytes(std::span<const TokenId> ids) const;
  size_t ScratchBytes(size_t input_bytes) const;
  size_t MaxTokens(size_t input_bytes) const;
  std::vector<TableFact> Facts() const;

  const TokenizerSpec& spec() const { return spec_; }
  const internal::VocabTable& vocab() const { return vocab_; }
  const internal::PlainPath& plain_path() const { return plain_; }
  // Null in the Hugging Face dialect.
  const internal::SentencePiecePipeline* sentencepiece() const { return sentencepiece_.get(); }
  const internal::AddedTokenMatcher& raw_matcher() const { return raw_matcher_; }

 private:
  size_t MaxTextTokens(size_t bytes) const;
  // Appends one text's tokens to `sink`.
  internal::StageResult EncodeText(std::string_view text, const EncodeOptions& options, ScratchCarver& carver,
                                   internal::WordCache::Memory* cache, internal::TokenSink& sink) const;
  // Writes one row at `at` of the buffer's columns; `size` becomes its length.
  absl::StatusCode EncodeRow(const Input& input, const EncodeOptions& options, ScratchCarver& carver,
                             internal::WordCache::Memory* cache, const EncodingBuffer& buffer, size_t at, size_t& size, size_t& num_truncated) const;

  TokenizerSpec spec_;
  internal::VocabTable vocab_;
  internal::PlainPath plain_;
  std::unique_ptr<const internal::SentencePiecePipeline> sentencepiece_;  // instead of plain_, in its dialect
  // nullptr: the path without shortcuts serves, because of `obstacle_`.
  std::unique_ptr<internal::WordPath> words_;
  std::string obstacle_;
  uint64_t id_;  // of this tokenizer in this process, for the word cache
  internal::AddedTokenMatcher raw_matcher_;
  internal::PostProcessor post_processor_;
  std::optional<internal::MetaspaceDecodeStep> decoder_;  // none: tokens joined by blanks
};

}  // namespace trellis

#endif  // TRELLIS_SRC_TOKENIZER_IMPL_H_
