// NormalizerChain: a spec's normalizers in their order, each a stage that knows
// no other. Hugging Face's dialect.
#ifndef TRELLIS_SRC_NORMALIZER_CHAIN_H_
#define TRELLIS_SRC_NORMALIZER_CHAIN_H_

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "trellis/internal/stage/character_steps.h"
#include "trellis/internal/stage/normalizer.h"
#include "trellis/internal/stage/pattern_replace.h"
#include "trellis/internal/stage/unicode_form.h"
#include "trellis/internal/text/alignment.h"
#include "trellis/scratch.h"
#include "trellis/spec.h"

namespace trellis::internal {

class NormalizerChain {
 public:
  // `normalizers` must be valid.
  explicit NormalizerChain(const std::vector<Normalizer>& normalizers);

  // The normalized text, in scratch taken from `carver`, always with alignment;
  // nullopt: there is not enough. `raw` may be malformed.
  std::optional<AlignedView> Run(const AlignedView& raw, ScratchCarver& carver) const;

  // Of `bytes` of raw text, at most.
  struct Room {
    size_t bytes;    // of the normalized text
    size_t scratch;  // that Run takes
  };
  Room MaxRoom(size_t bytes) const;
  // The same of one text or of several that have so many bytes together.
  struct Length {
    size_t bytes;
    size_t characters;
  };
  Length MaxLength(size_t bytes) const;

  // The only step, where it is this one.
  const PrecompiledStep* OnlyPrecompiled() const {
    return steps_.size() == 1 ? std::get_if<PrecompiledStep>(&steps_[0]) : nullptr;
  }

 private:
  using Step = std::variant<PrecompiledStep, ReplaceStep, PatternReplaceStep, UnicodeFormStep, RemoveStep, CleanTextStep,
                            NmtStep, LowercaseStep, IdeographStep, StripStep, PrependStep>;

  void Add(const Normalizer& normalizer);
  // Precompiled alone takes malformed text itself; and without any step the text
  // still wants its alignment.
  bool repairs() const { return steps_.empty() || !std::holds_alternative<PrecompiledStep>(steps_[0]); }

  std::vector<Step> steps_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_NORMALIZER_CHAIN_H_
