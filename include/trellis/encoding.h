// What an encoding is made of, and where the caller wants it written.
//
// Shapes: every column of one encoding has the same length, the number of
// tokens. Units: offsets are bytes of the caller's text. Ownership: spans point
// at the caller's memory; nothing here owns or allocates.
#ifndef TRELLIS_ENCODING_H_
#define TRELLIS_ENCODING_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace trellis {

using TokenId = int32_t;

// Half-open byte range [begin, end) in the caller's text. Tokens that do not
// come from text (template tokens) have the empty range at 0. Each token of a
// pair counts from the start of its own text.
struct Offset {
  uint32_t begin = 0;
  uint32_t end = 0;
  friend bool operator==(const Offset&, const Offset&) = default;
};

// Where Encode writes. ids.size() is the capacity in tokens; another column is
// either empty (then it is not computed) or at least as long as ids.
struct EncodingBuffer {
  std::span<TokenId> ids = {};
  std::span<Offset> offsets = {};
  std::span<uint8_t> type_ids = {};
  std::span<uint8_t> special_tokens_mask = {};
  std::span<int32_t> cu_seqlens = {};  // EncodeBatch only: rows + 1
};

// What Encode wrote: the used front of the buffer's columns.
struct Encoding {
  std::span<const TokenId> ids = {};
  std::span<const Offset> offsets = {};
  std::span<const uint8_t> type_ids = {};
  std::span<const uint8_t> special_tokens_mask = {};
  std::span<const int32_t> cu_seqlens = {};
  // Text tokens left out because of max_length, over all rows.
  size_t num_truncated = 0;
};

}  // namespace trellis

#endif  // TRELLIS_ENCODING_H_
