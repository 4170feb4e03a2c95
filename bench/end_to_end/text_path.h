// TextPath: the call that is timed. Every variant stands behind this one
// virtual function, so each pays the same for being measured.
#ifndef TRELLIS_BENCH_END_TO_END_TEXT_PATH_H_
#define TRELLIS_BENCH_END_TO_END_TEXT_PATH_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "trellis/tokenizer.h"

namespace trellis::bench {

class TextPath {
 public:
  // `tokenizer` must outlive this object; its bounds on memory hold for every path.
  explicit TextPath(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  virtual ~TextPath() = default;
  TextPath(const TextPath&) = delete;
  TextPath& operator=(const TextPath&) = delete;

  // As Tokenizer::Encode, without special tokens: no allocation, the result
  // views `buffer`.
  virtual absl::StatusOr<Encoding> Encode(std::string_view text, Scratch& scratch,
                                          const EncodingBuffer& buffer) const = 0;

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  const Tokenizer& tokenizer_;
};

// What users call.
class TokenizerPath final : public TextPath {
 public:
  explicit TokenizerPath(const Tokenizer& tokenizer) : TextPath(tokenizer) {
    options_.add_special_tokens = false;
  }

  absl::StatusOr<Encoding> Encode(std::string_view text, Scratch& scratch,
                                  const EncodingBuffer& buffer) const override {
    return tokenizer().Encode({text}, options_, scratch, buffer);
  }

 private:
  EncodeOptions options_;
};

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_TEXT_PATH_H_
