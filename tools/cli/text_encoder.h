// One thread's encoder. TextEncoder holds a Scratch and columns that grow to the longest
// text met and are then reused, so that a steady stream of lines allocates
// nothing.
#ifndef TRELLIS_TOOLS_CLI_TEXT_ENCODER_H_
#define TRELLIS_TOOLS_CLI_TEXT_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "trellis/tokenizer.h"

namespace trellis::cli {

// Encode's errors are codes only: what went wrong, for people. A status that
// has a message stays as it is.
absl::Status ExplainedEncodeError(const absl::Status& status, const Tokenizer& tokenizer, const Input& input,
                                  const EncodeOptions& options);

class TextEncoder {
 public:
  enum class Columns { kIds, kAll };

  // `tokenizer` must outlive this object.
  TextEncoder(const Tokenizer& tokenizer, Columns columns) : tokenizer_(tokenizer), columns_(columns) {}

  // The result lives until the next call. Errors carry a message for people.
  absl::StatusOr<Encoding> Encode(const Input& input, const EncodeOptions& options);
  // The same for all windows, which are rows in cu_seqlens.
  absl::StatusOr<Encoding> EncodeWindows(const Input& input, const EncodeOptions& options);

 private:
  void Reserve(size_t tokens);
  EncodingBuffer Buffer();

  const Tokenizer& tokenizer_;
  const Columns columns_;
  Scratch scratch_;
  size_t max_tokens_ = 0;  // that there is room for
  // Arrays, not vectors: pages that no text fills are never touched.
  std::unique_ptr<TokenId[]> ids_;
  std::unique_ptr<Offset[]> offsets_;
  std::unique_ptr<uint8_t[]> type_ids_;
  std::unique_ptr<uint8_t[]> special_tokens_mask_;
  std::vector<int32_t> cu_seqlens_;
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_TEXT_ENCODER_H_
