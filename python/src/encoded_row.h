// EncodedRow: one row of tokens, with everything that tokenizers' Encoding says of them; Encoding in Python.
#ifndef TRELLIS_PYTHON_ENCODED_ROW_H_
#define TRELLIS_PYTHON_ENCODED_ROW_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/src/encoded_input.h"
#include "trellis/padding.h"
#include "trellis/tokenizer.h"

namespace trellis::python {

class EncodedRow {
 public:
  enum class Offsets : uint8_t { kCodePoints, kBytes };

  // The rows that `encoder` gives `input`, the first of which has the others as overflow. Without the GIL.
  struct Settings {
    Offsets offsets = Offsets::kCodePoints;
    bool overflow = false;
  };
  static absl::StatusOr<std::shared_ptr<EncodedRow>> Make(cli::TextEncoder& encoder,
                                                          std::shared_ptr<EncodedInput> input,
                                                          const Settings& settings);
  // The same of texts that are cut into words.
  static absl::StatusOr<std::shared_ptr<EncodedRow>> MakeOfWords(cli::TextEncoder& encoder,
                                                                 std::shared_ptr<EncodedInput> input,
                                                                 const Settings& settings);
  // This row and its overflow.
  void PadTo(size_t length, const Padding& padding);

  size_t size() const { return row_.ids.size(); }
  const EncodedText& row() const { return row_; }
  const std::vector<uint8_t>& attention_mask() const { return attention_mask_; }
  const std::vector<std::shared_ptr<EncodedRow>>& overflow() const { return overflow_; }

  // With the GIL; these raise.
  nanobind::list Tokens();
  const std::vector<TextPart>& Parts();
  // The text that a token is of; nullopt for template tokens and pads.
  std::optional<size_t> SequenceOf(size_t token);
  std::optional<uint32_t> WordOf(size_t token);

 private:
  // The first of `rows`, with the others as its overflow.
  static std::shared_ptr<EncodedRow> WithOverflow(std::vector<std::shared_ptr<EncodedRow>> rows);
  const TextPart* PartOf(size_t token);

  EncodedText row_;
  std::vector<uint8_t> attention_mask_;
  size_t front_pads_ = 0, back_pads_ = 0;
  std::string pad_token_;
  std::shared_ptr<EncodedInput> input_;
  size_t window_ = 0;
  std::optional<std::vector<TextPart>> parts_;
  std::vector<std::shared_ptr<EncodedRow>> overflow_;
};

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ENCODED_ROW_H_
