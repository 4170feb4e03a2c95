// PreToken: a range of a text between two pre-tokenizers.
#ifndef TRELLIS_INTERNAL_STAGE_PRE_TOKEN_H_
#define TRELLIS_INTERNAL_STAGE_PRE_TOKEN_H_

#include <cstddef>
#include <cstdint>

namespace trellis::internal {

struct PreToken {
  uint32_t begin;   // bytes of the text it was cut from
  uint32_t end;
  uint32_t source;  // where the reference says the piece of source begins
};

// Pre-tokens are not empty, so there are never more than bytes.
inline size_t MaxPreTokens(size_t text_bytes) { return text_bytes; }

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_PRE_TOKEN_H_
