// Padding: rows of tokens made equally long (tokenizers 0.22.2,
// utils/padding.rs and tokenizer/encoding.rs, pad).
//
//   const size_t length = trellis::PaddedLength(encoding.cu_seqlens, padding);
//   auto matrix = trellis::PadRows(encoding, length, padding, buffer);
//
// `padding` is the caller's, or what the file wishes: spec().padding. A pad has
// the padding's id and type id, the empty offset at 0, 1 in the special tokens
// mask and 0 in the attention mask, which is 1 for every other token. A row that
// is longer than the length stays as it is, as in the reference; when none is,
// the result is a matrix, row after row.
#ifndef TRELLIS_PADDING_H_
#define TRELLIS_PADDING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trellis/encoding.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis {

// The length that `padding` asks for: its own, or that of the longest of the rows
// that `cu_seqlens` tells of, rounded up to the multiple. Of windows only the
// first row of each text counts in the reference, which is never shorter than the
// others but where it has room for no text at all.
size_t PaddedLength(std::span<const int32_t> cu_seqlens, const Padding& padding);

// Tokens of all rows once they are padded.
size_t PaddedTokens(std::span<const int32_t> cu_seqlens, size_t length);

// Where PadRows writes; the columns are those of EncodingBuffer and one more.
struct PaddedBuffer {
  std::span<TokenId> ids = {};
  std::span<Offset> offsets = {};
  std::span<uint8_t> type_ids = {};
  std::span<uint8_t> special_tokens_mask = {};
  std::span<uint8_t> attention_mask = {};
  std::span<int32_t> cu_seqlens = {};  // empty, or rows + 1
};

// What PadRows wrote: the used front of the buffer's columns.
struct PaddedRows {
  std::span<const TokenId> ids = {};
  std::span<const Offset> offsets = {};
  std::span<const uint8_t> type_ids = {};
  std::span<const uint8_t> special_tokens_mask = {};
  std::span<const uint8_t> attention_mask = {};
  std::span<const int32_t> cu_seqlens = {};
};

// Pads `rows` (without cu_seqlens: one row) to `length` each. Never allocates;
// the buffer's memory must not be that of `rows`. Errors, code only:
//   ResourceExhausted  the buffer is too small (PaddedTokens says how much is
//                      enough);
//   InvalidArgument    a column that `rows` does not have, or that is shorter than
//                      ids.
absl::StatusOr<PaddedRows> PadRows(const Encoding& rows, size_t length, const Padding& padding,
                                   const PaddedBuffer& buffer);

// One text in place; returns its attention mask.
std::vector<uint8_t> Pad(EncodedText& text, size_t length, const Padding& padding);

}  // namespace trellis

#endif  // TRELLIS_PADDING_H_
