// WithGrowingScratch: for callers who would rather have less memory than
// Tokenizer::ScratchBytes says than never see it allocated. The bound is for the
// worst text of that length (a character that NFKC makes eighteen of, over and
// over, through all stages of the pipeline); with several normalizers it is
// thousands of times what any real text takes.
#ifndef TRELLIS_GROWING_SCRATCH_H_
#define TRELLIS_GROWING_SCRATCH_H_

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "trellis/scratch.h"
#include "trellis/tokenizer.h"

namespace trellis {

// Scratch that a text of `input_bytes` (or a pair, lengths added) begins with:
// never more than ScratchBytes, and all of it for XLM-RoBERTa's pipeline.
inline size_t FirstScratchBytes(const Tokenizer& tokenizer, size_t input_bytes) {
  constexpr size_t kEachByte = 256;
  return std::min(tokenizer.ScratchBytes(input_bytes), tokenizer.ScratchBytes(0) + kEachByte * input_bytes);
}

// What `call` returns: an absl::StatusOr of Encode or EncodeWindows of
// `tokenizer` with `scratch`, called again with twice the scratch for as long as
// that was too little. ResourceExhausted then means the buffer. Allocates only
// when a text needs more than any before it.
template <typename Call>
auto WithGrowingScratch(const Tokenizer& tokenizer, size_t input_bytes, Scratch& scratch, Call&& call) {
  scratch.Reserve(FirstScratchBytes(tokenizer, input_bytes));
  for (;;) {
    auto result = call();
    const size_t asked = scratch.high_water();
    if (!absl::IsResourceExhausted(result.status()) || asked <= scratch.capacity()) return result;
    scratch.Reserve(std::max(asked, std::min(2 * scratch.capacity(), tokenizer.ScratchBytes(input_bytes))));
  }
}

}  // namespace trellis

#endif  // TRELLIS_GROWING_SCRATCH_H_
