// Tokenizer: text to token ids and back, exactly as the reference of its
// dialect (tokenizers 0.22.2, or sentencepiece 0.2.x).
//
//   auto tokenizer = trellis::LoadTokenizer("models/multilingual-e5-small");
//   trellis::EncodedText e = tokenizer->Encode("Hello, world!").value();
//
// Immutable after Create; every const method may be called from any thread.
// Copies share one set of tables.
#ifndef TRELLIS_TOKENIZER_H_
#define TRELLIS_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trellis/encoding.h"
#include "trellis/scratch.h"
#include "trellis/spec.h"

namespace trellis {

struct Input {
  std::string_view text;
  std::optional<std::string_view> pair = std::nullopt;
};

struct EncodeOptions {
  // Put the template's special tokens in (<s> A </s>, ...).
  bool add_special_tokens = true;
  // false is the shield for untrusted text: no special or control id comes out
  // of text by any spelling; such spellings are ordinary text.
  bool match_special_tokens = true;
  // tokenizers' encode_special_tokens: special tokens are not looked for in text.
  // No shield: most vocabularies have pieces with the same spellings, and a text
  // still comes to those ids. Without effect where the shield is on.
  bool encode_special_tokens = false;
  Truncate truncate = Truncate::kNever;
  Side truncation_side = Side::kRight;
  // The most tokens of an encoding, specials included; used unless kNever.
  size_t max_length = 0;
  // Tokens of a text that a window has in common with the one before it
  // (EncodeWindows); less than what a window has room for.
  size_t stride = 0;
  // A max_length below the number of specials is an error, or cuts nothing:
  // tokenizers 0.22.2 subtracts one from the other and wraps around.
  enum class NoRoom : uint8_t { kRefuse, kCutNothing };
  NoRoom no_room = NoRoom::kRefuse;
};

// `options` with the truncation that the file asks for, if it does.
inline EncodeOptions WithFileTruncation(const TokenizerSpec& spec, EncodeOptions options = {}) {
  if (!spec.truncation) return options;
  options.truncate = spec.truncation->strategy;
  options.truncation_side = spec.truncation->side;
  options.max_length = spec.truncation->max_length;
  options.stride = spec.truncation->stride;
  options.no_room = EncodeOptions::NoRoom::kCutNothing;
  return options;
}

// Room for all windows of an input: rows, and tokens of all of them.
struct WindowRoom {
  size_t rows = 0;
  size_t tokens = 0;
};

struct DecodeOptions {
  bool skip_special_tokens = true;
  // No blank before English punctuation and contractions in the finished text:
  // "don 't stop ." becomes "don't stop." (transformers'
  // clean_up_tokenization_spaces).
  bool clean_up = false;
};

// Ids, their strings and scores: the model's pieces, then added tokens beyond.
class Vocab {
 public:
  virtual ~Vocab() = default;
  // One more than the largest id.
  virtual TokenId size() const = 0;
  // The piece or added token; empty when there is none of this id.
  virtual std::string_view Text(TokenId id) const = 0;
  // A piece's score; 0 for added tokens beyond the model.
  virtual double Score(TokenId id) const = 0;
  // Exact string to id, added tokens first.
  virtual std::optional<TokenId> Find(std::string_view text) const = 0;
  // Special added tokens and control pieces: what Decode skips.
  virtual bool IsSpecial(TokenId id) const = 0;
  virtual std::optional<TokenId> unk_id() const = 0;
};

// The owned result of the one-line Encode.
struct EncodedText {
  std::vector<TokenId> ids;
  std::vector<Offset> offsets;
  std::vector<uint8_t> type_ids;
  std::vector<uint8_t> special_tokens_mask;
  size_t num_truncated = 0;
};

// How the tables are built; the results never depend on it.
struct TokenizerOptions {
  // Every shortcut that the spec's properties allow. Off: the plain path, which
  // differential tests compare with.
  bool shortcuts = true;
  // The byte trie of the plain path: the classic double array, or 64-byte
  // bitmap-packed nodes.
  enum class TrieKind : uint8_t { kBitmapPacked, kDoubleArray };
  TrieKind trie = TrieKind::kBitmapPacked;
  // Ask for 2 MB pages for the tables (madvise); quietly does without.
  bool huge_pages = false;
};

// One line per fact, for people (`trellis info`).
struct TableFact {
  std::string name;
  std::string value;
};

class Tokenizer {
 public:
  // Errors: what ValidateSpec says. Allocates; takes a fraction of a second for
  // 250,000 pieces.
  static absl::StatusOr<Tokenizer> Create(TokenizerSpec spec, const TokenizerOptions& options = {});

  // Enough Scratch for any text (or pair, lengths added) of `input_bytes`.
  size_t ScratchBytes(size_t input_bytes) const;
  // No encoding of `input_bytes` has more tokens; template included.
  size_t MaxTokens(size_t input_bytes) const;

  // Encodes one text or pair into `buffer`. Never allocates. The result views
  // the buffer. Errors, code only:
  //   ResourceExhausted  scratch or buffer is too small, or the text is 4 GiB
  //                      or longer;
  //   InvalidArgument    max_length leaves no room for the specials, only_first
  //                      or only_second cannot be met, or there is no pair to
  //                      cut, or a text is cut to no more than the stride;
  //                      buffer columns shorter than ids; a text with unknown
  //                      characters and a model without unk.
  // Malformed UTF-8 is input: each maximal ill-formed subsequence counts as one
  // U+FFFD, and offsets stay those of the caller's bytes.
  absl::StatusOr<Encoding> Encode(const Input& input, const EncodeOptions& options, Scratch& scratch,
                                  const EncodingBuffer& buffer) const;

  // Rows end to end; buffer.cu_seqlens must have inputs.size() + 1 elements.
  // A failing row fails the call.
  absl::StatusOr<Encoding> EncodeBatch(std::span<const Input> inputs, const EncodeOptions& options,
                                       Scratch& scratch, const EncodingBuffer& buffer) const;

  // All windows of a text or pair that truncation would cut, as rows end to end
  // in buffer.cu_seqlens: first what Encode gives, then what tokenizers 0.22.2
  // calls its overflowing encodings, in its order. Each has the template's
  // specials and at most max_length tokens; the next one begins `stride` tokens
  // before the last one's end (with Side::kLeft: from the end backwards). Of a
  // pair, each window of the one text comes with each of the other. A max_length
  // that only has room for the specials gives a window without text and one with
  // all of it. Type ids are the template's in every window (the reference
  // numbers the texts in overflowing ones). Never allocates. Errors are Encode's;
  // `needed`, when given, says how much room the windows take, also after
  // ResourceExhausted of a buffer that is too small. (A pair's can be more than
  // any buffer holds: the largest size_t then.)
  absl::StatusOr<Encoding> EncodeWindows(const Input& input, const EncodeOptions& options, Scratch& scratch,
                                         const EncodingBuffer& buffer, WindowRoom* needed = nullptr) const;

  // Writes the text of `ids` into `out` and returns the used part. Never
  // allocates. Ids without a string are left out, as the reference does.
  // Decoders that work on lists of tokens do so in `out`, which must be larger
  // than the text then. Errors, code only:
  //   ResourceExhausted  out is too small; DecodedBytes tells how much is enough;
  //   InvalidArgument    a Strip decoder meets a token that its `stop` would
  //                      strip of more than it has (the reference panics).
  absl::StatusOr<std::string_view> Decode(std::span<const TokenId> ids, const DecodeOptions& options,
                                          std::span<char> out) const;
  // Enough bytes for Decode of these ids.
  size_t DecodedBytes(std::span<const TokenId> ids) const;

  // One line: allocates the result, keeps a Scratch per thread.
  absl::StatusOr<EncodedText> Encode(const Input& input, const EncodeOptions& options = {}) const;
  absl::StatusOr<EncodedText> Encode(std::string_view text) const;
  // One element a window.
  absl::StatusOr<std::vector<EncodedText>> EncodeWindows(const Input& input, const EncodeOptions& options) const;
  // Empty when the other Decode refuses the ids.
  std::string Decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  const Vocab& vocab() const;
  // What Create was given, pieces' texts included. Of a compiled file it is made
  // at the first call, which takes time and memory for each piece.
  const TokenizerSpec& spec() const;
  // spec() for whoever does not look at model.pieces, which may be empty here.
  // Costs nothing.
  const TokenizerSpec& spec_without_pieces() const;
  // Which paths are on, sizes of tables in bytes, how long they took.
  std::vector<TableFact> Facts() const;

  // Opaque: the pipeline and its tables (src/tokenizer.cc).
  class Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace trellis

#endif  // TRELLIS_TOKENIZER_H_
