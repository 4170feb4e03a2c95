// What was encoded, and what is found out about its tokens only when somebody asks: where each text's tokens
// lie in a row, which word each is of, and the strings of tokens that stand for text.
#ifndef TRELLIS_PYTHON_ENCODED_INPUT_H_
#define TRELLIS_PYTHON_ENCODED_INPUT_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "python/src/encoder_pool.h"
#include "tools/cli/text_encoder.h"
#include "trellis/internal/stage/truncation.h"
#include "trellis/tokenizer.h"

namespace trellis::python {

// Tokens of a row that one text gave: [begin, end), its tokens from `first` on.
struct TextPart {
  size_t begin;
  size_t end;
  uint8_t sequence;  // 0: the text, 1: its pair
  size_t first;
};

// All tokens of one text, before truncation.
struct TextTokens {
  std::vector<uint32_t> words;        // the pre-token, counted over the text
  std::vector<std::string> surfaces;  // of the normalized text; a byte's piece has its name
};

class EncodedInput {
 public:
  // `text` and `pair` hold the bytes of `input`.
  EncodedInput(std::shared_ptr<LoadedTokenizer> loaded, const EncodeOptions& options, const Input& input,
               nanobind::object text, nanobind::object pair)
      : loaded_(std::move(loaded)),
        options_(options),
        input_(input),
        text_(std::move(text)),
        pair_(std::move(pair)) {}

  LoadedTokenizer& loaded() const { return *loaded_; }
  const Tokenizer& tokenizer() const { return loaded_->tokenizer; }
  const EncodeOptions& options() const { return options_; }
  const Input& input() const { return input_; }
  std::string_view TextAt(size_t sequence) const { return sequence == 0 ? input_.text : *input_.pair; }
  bool has_specials() const { return options_.add_special_tokens; }

  // Counts each text's tokens, once, for Parts.
  absl::Status Count(cli::TextEncoder& encoder);
  // Of the row that is the window of this number, in EncodeWindows' order; 0 is what Encode gives. After
  // Count.
  std::vector<TextPart> Parts(size_t window) const;
  // With the GIL: computed at the first call.
  absl::StatusOr<const TextTokens*> Tokens(size_t sequence);

 private:
  // What each text is encoded with when it is alone.
  EncodeOptions Alone() const;
  std::vector<size_t> Order() const;

  std::shared_ptr<LoadedTokenizer> loaded_;
  EncodeOptions options_;
  Input input_;
  nanobind::object text_, pair_;
  bool counted_ = false;
  internal::TextWindows windows_[2];
  std::optional<TextTokens> tokens_[2];
};

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ENCODED_INPUT_H_
