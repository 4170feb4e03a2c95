// DecodeStream: ids one by one to text, as soon as it is certain.
//
//   trellis::DecodeStream stream(tokenizer, {});
//   for (const TokenId id : ids) std::cout << stream.Step(id).value();
//   std::cout << stream.Finish().value();
//
// Whose truth: tokenizers 0.22.2, DecodeStream. A few of the last ids are kept and
// decoded again with the new one; what that adds is given out, unless it ends in
// U+FFFD, which more bytes may still make a character. Ids that leave no text (skipped
// specials, ids of nothing) are not kept.
//
// One thread at a time. Memory grows with the ids that are kept, and stays: in
// the long run nothing is allocated. While nothing becomes certain (bytes that
// make no character) all ids are kept and decoded again at each step, as in the
// reference.
#ifndef TRELLIS_DECODE_STREAM_H_
#define TRELLIS_DECODE_STREAM_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trellis/tokenizer.h"

namespace trellis {

class DecodeStream {
 public:
  // Shares the tokenizer's tables. Room for `kept_ids` of a usual length is there
  // from the start.
  explicit DecodeStream(const Tokenizer& tokenizer, const DecodeOptions& options = {}, size_t kept_ids = 16);

  // The text that `id` makes certain, mostly of itself; empty: none yet. Valid
  // until the next call. Errors, code only:
  //   FailedPrecondition  what was given out is not how the text goes on any more:
  //                       such as bytes that were characters until one came that
  //                       spoiled them. It mostly stays so until Reset.
  //   InvalidArgument     Tokenizer::Decode's.
  absl::StatusOr<std::string_view> Step(TokenId id);

  // The text that was held back, when no id comes any more: incomplete characters
  // as U+FFFD. The stream is new then. (The reference has no such call.)
  absl::StatusOr<std::string_view> Finish();

  // Forgets all ids.
  void Reset();

 private:
  // Text in memory that is larger.
  struct Text {
    std::vector<char> memory;
    size_t size = 0;
    std::string_view view() const { return {memory.data(), size}; }
  };
  absl::Status DecodeInto(Text& text);
  // The given-out beginning of the kept ids' text.
  absl::Status SetPrefix();
  absl::StatusOr<std::string_view> Rest() const;

  Tokenizer tokenizer_;
  DecodeOptions options_;
  bool broken_ = false;  // the last step's text did not go on as it began
  std::vector<TokenId> ids_;
  size_t prefix_ids_ = 0;  // whose text `prefix_` was
  Text prefix_;
  Text text_;
};

}  // namespace trellis

#endif  // TRELLIS_DECODE_STREAM_H_
