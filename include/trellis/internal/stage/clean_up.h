// Clean-up: English punctuation and contractions without the blank that a
// tokenizer of words puts before them.
//
// Whose truth: tokenizers 0.22.2, decoders/wordpiece.rs, cleanup; transformers'
// clean_up_tokenization is the same without its eighth rule.
#ifndef TRELLIS_INTERNAL_STAGE_CLEAN_UP_H_
#define TRELLIS_INTERNAL_STAGE_CLEAN_UP_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace trellis::internal {

enum class CleanUpRules : uint8_t { kTokenizers, kTransformers };

struct CleanUpRule {
  std::string_view from;
  std::string_view to;  // never longer
  bool transformers = true;
};

// One after the other, each over what the ones before have left.
inline constexpr CleanUpRule kCleanUpRules[] = {
    {" .", "."},     {" ?", "?"},     {" !", "!"},   {" ,", ","},
    {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't", /*transformers=*/false},
    {" 's", "'s"},   {" 've", "'ve"}, {" 're", "'re"},
};

// Cleans `text` in place and returns its new length, which is not greater.
inline size_t CleanUp(CleanUpRules rules, std::span<char> text) {
  size_t size = text.size();
  for (const CleanUpRule& rule : kCleanUpRules) {
    if (rules == CleanUpRules::kTransformers && !rule.transformers) continue;
    const std::string_view before(text.data(), size);
    size_t written = 0;
    for (size_t at = 0; at < before.size();) {
      const size_t found = before.find(rule.from, at);
      const size_t kept = (found == std::string_view::npos ? before.size() : found) - at;
      std::memmove(text.data() + written, text.data() + at, kept);
      written += kept;
      if (found == std::string_view::npos) break;
      std::memcpy(text.data() + written, rule.to.data(), rule.to.size());
      written += rule.to.size();
      at = found + rule.from.size();
    }
    size = written;
  }
  return size;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_CLEAN_UP_H_
