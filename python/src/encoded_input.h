// What was encoded, and what is found out about its tokens only when somebody asks: where each text's tokens
// lie in a row, which word each is of, and the strings of tokens that stand for text.
#ifndef TRELLIS_PYTHON_ENCODED_INPUT_H_
#define TRELLIS_PYTHON_ENCODED_INPUT_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "python/src/encoder_pool.h"
#include "python/src/texts.h"
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
  std::vector<uint32_t> words;        // the pre-token, counted over the text; of a cut text the word
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
        pair_(std::move(pair)) {
    parts_[0] = {input_.text};
    if (input_.pair) parts_[1] = {*input_.pair};
  }
  EncodedInput(std::shared_ptr<LoadedTokenizer> loaded, const EncodeOptions& options, CutText text,
               std::optional<CutText> pair)
      : loaded_(std::move(loaded)), options_(options), text_(std::move(text.holder)), is_cut_(true) {
    parts_[0] = std::move(text.words);
    if (!pair) return;
    input_.pair.emplace();
    parts_[1] = std::move(pair->words);
    pair_ = std::move(pair->holder);
  }

  LoadedTokenizer& loaded() const { return *loaded_; }
  const Tokenizer& tokenizer() const { return loaded_->tokenizer; }
  const EncodeOptions& options() const { return options_; }
  // Of a cut text its shape only.
  const Input& input() const { return input_; }
  bool is_cut() const { return is_cut_; }
  // The text, or its words.
  std::span<const std::string_view> PartsOf(size_t sequence) const { return parts_[sequence]; }
  bool has_specials() const { return options_.add_special_tokens; }

  // What each part is encoded with when it is alone.
  EncodeOptions Alone() const;

  // Counts each text's tokens, once, for Parts.
  absl::Status Count(cli::TextEncoder& encoder);
  // The same for who has counted them. An error: the options ask for a cut that cannot be.
  absl::Status Cut(const size_t (&tokens)[2]);
  // After one of these two: tokens that the first window is without, and how many windows there are.
  size_t Truncated() const;
  absl::StatusOr<size_t> WindowCount() const;
  // Of the row that is the window of this number, in EncodeWindows' order; 0 is what Encode gives. After
  // Count.
  std::vector<TextPart> Parts(size_t window) const;
  // With the GIL: computed at the first call.
  absl::StatusOr<const TextTokens*> Tokens(size_t sequence);

 private:
  struct Loops {
    size_t outer;  // the text whose windows the outer loop goes through
    size_t outer_count;
    size_t inner_count;
  };
  Loops WindowLoops() const;
  // The tokens of a text, or of a word of it; `words` counts them.
  absl::Status AddTokens(std::string_view text, uint32_t& words, TextTokens& tokens) const;

  std::shared_ptr<LoadedTokenizer> loaded_;
  EncodeOptions options_;
  Input input_;
  nanobind::object text_, pair_;
  bool is_cut_ = false;
  std::vector<std::string_view> parts_[2];
  size_t counts_[2] = {};
  bool counted_ = false;
  internal::TextWindows windows_[2];
  std::optional<TextTokens> tokens_[2];
};

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ENCODED_INPUT_H_
