// PreTokenizerChain: a spec's pre-tokenizers in their order, each a stage that
// knows no other. Hugging Face's dialect.
#ifndef TRELLIS_SRC_PRE_TOKENIZER_CHAIN_H_
#define TRELLIS_SRC_PRE_TOKENIZER_CHAIN_H_

#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "src/normalizer_chain.h"
#include "trellis/internal/stage/pre_token.h"
#include "trellis/internal/stage/pre_tokenizer.h"
#include "trellis/internal/stage/split.h"
#include "trellis/internal/text/alignment.h"
#include "trellis/scratch.h"
#include "trellis/spec.h"

namespace trellis::internal {

class PreTokenizerChain {
 public:
  // `pre_tokenizers` must be valid.
  explicit PreTokenizerChain(const std::vector<PreTokenizer>& pre_tokenizers);

  struct PreTokens {
    AlignedView text;
    std::span<const PreToken> ranges;
  };
  // Of one range of a normalized text, in scratch taken from `carver`; nullopt:
  // there is not enough.
  std::optional<PreTokens> Run(const AlignedView& text, const PreToken& range, ScratchCarver& carver) const;

  // Of `bytes` of normalized text, at most: the text that Run leaves, and the
  // scratch that it takes.
  NormalizerChain::Room MaxRoom(size_t bytes) const;
  // The most characters (or bytes, where `characters` are bytes) that one text or
  // several have at the end. `ranges` is how many Run is called with.
  enum class Ranges : uint8_t { kOneEach, kMany };
  enum class Unit : uint8_t { kCharacters, kBytes };
  size_t MaxLength(size_t length, Unit unit, Ranges ranges) const;

 private:
  using Step = std::variant<MetaspaceStep, WhitespaceSplitStep, CharDelimiterStep, WordRunsStep, PunctuationStep, DigitsStep,
                            UnicodeScriptsStep, FixedLengthStep, PatternSplitStep>;
  void Add(const PreTokenizer& pre_tokenizer);
  std::vector<Step> steps_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_PRE_TOKENIZER_CHAIN_H_
