// NFC, NFD, NFKC and NFKD with alignment (tokenizers 0.22.2, normalizers/unicode.rs).
//
// Alignment: each letter takes the place of the next character of the text;
// letters beyond the first of a decomposition are insertions and share the one
// before; a composed character has taken several places and has the first of
// them. Marks that are sorted do not take their places along: that is how the
// reference counts.
//
// Input is well formed. Time is linear, also in runs of a million marks.
#ifndef TRELLIS_INTERNAL_STAGE_UNICODE_FORM_H_
#define TRELLIS_INTERNAL_STAGE_UNICODE_FORM_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "trellis/internal/text/alignment.h"
#include "trellis/internal/text/hf_properties.h"
#include "trellis/internal/text/normal_form.h"
#include "trellis/spec.h"

namespace trellis::internal {

class UnicodeFormStep {
 public:
  explicit UnicodeFormStep(UnicodeForm form)
      : kind_(form == UnicodeForm::kNfc || form == UnicodeForm::kNfd ? DecompositionKind::kCanonical
                                                                       : DecompositionKind::kCompatible),
        composes_(form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc),
        forms_(&NormalForms::Get()),
        properties_(&HfProperties::Get()) {}

  size_t MaxBytes(size_t input_bytes) const { return input_bytes * NormalForms::MaxBytes(kind_); }
  size_t MaxCharacters(size_t /*input_bytes*/, size_t input_characters) const {
    return input_characters * NormalForms::MaxCharacters(kind_);
  }

  // Letters that Run needs room for.
  size_t WorkSize(size_t input_bytes) const { return MaxBytes(input_bytes); }
  size_t Run(const AlignedView& in, std::span<uint32_t> work, AlignedBuffer out) const;

 private:
  // Writes the sorted decomposition of all of the text; returns its letters.
  // `spare` has as much room as `letters`.
  size_t Decompose(std::string_view text, uint32_t* letters, uint32_t* spare) const;
  size_t Compose(uint32_t* letters, size_t count) const;

  DecompositionKind kind_;
  bool composes_;
  const NormalForms* forms_;
  const HfProperties* properties_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_UNICODE_FORM_H_
