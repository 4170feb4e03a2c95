// WithGrowingScratch: for callers who would rather have less memory than
// Tokenizer::ScratchBytes says than never see it allocated. The bound is for the
// worst text of that length (a character that NFKC makes eighteen of, over and
// over, through all stages of the pipeline); with several normalizers it is
// thousands of times what any real text takes.
#ifndef TRELLIS_GROWING_SCRATCH_H_
#define TRELLIS_GROWING_SCRATCH_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trellis/scratch.h"
#include "trellis/tokenizer.h"

namespace trellis {

// Scratch that a text of `input_bytes` (or a pair, lengths added) begins with:
// never more than ScratchBytes, and enough for nearly all texts.
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

// Decode into `memory` (std::string or std::vector<char>), which is made larger as
// the text proves to need it: with several Replace decoders DecodedBytes, too, is
// far from any real text. Of a text of 4 GiB or more ResourceExhausted.
template <typename Memory>
absl::StatusOr<std::string_view> DecodeGrowing(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                                               const DecodeOptions& options, Memory& memory) {
  constexpr size_t kEachId = 64, kMostBytes = size_t{1} << 32;
  const size_t most = std::min(tokenizer.DecodedBytes(ids), kMostBytes);
  for (size_t room = std::min(most, kEachId * (ids.size() + 1));; room = std::min(most, 4 * memory.size())) {
    if (memory.size() < room) memory.resize(std::max(room, std::min(most, 2 * memory.size())));
    absl::StatusOr<std::string_view> text = tokenizer.Decode(ids, options, std::span<char>(memory));
    if (!absl::IsResourceExhausted(text.status()) || memory.size() >= most) return text;
  }
}

}  // namespace trellis

#endif  // TRELLIS_GROWING_SCRATCH_H_
