// tokenizers' Replace for regular expressions. Each character of the content is
// aligned with the last character of the match. Input is well formed.
#ifndef TRELLIS_INTERNAL_STAGE_PATTERN_REPLACE_H_
#define TRELLIS_INTERNAL_STAGE_PATTERN_REPLACE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "trellis/internal/stage/pattern.h"
#include "trellis/internal/text/alignment.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis::internal {

class PatternReplaceStep {
 public:
  explicit PatternReplaceStep(const ReplaceNormalizer& spec)
      : pattern_(spec.is_regex ? Pattern::Kind::kRegex : Pattern::Kind::kString, spec.pattern), content_(spec.content) {}

  size_t MaxBytes(size_t input_bytes) const {
    const size_t matches = input_bytes / pattern_.shortest();
    const size_t growth = content_.size() > pattern_.shortest() ? content_.size() - pattern_.shortest() : 0;
    return input_bytes + matches * growth;
  }
  size_t MaxCharacters(size_t input_bytes, size_t input_characters) const {
    return content_.size() <= 1 ? input_characters
                                : input_characters + input_bytes / pattern_.shortest() * content_.size();
  }

  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    size_t size = 0;
    size_t at = 0;
    const auto copy = [&](size_t end) {
      for (; at < end; ++at, ++size) {
        out.bytes[size] = in.bytes[at];
        out.source[size] = in.SourceOf(at);
      }
    };
    while (const auto match = pattern_.Find(in.bytes, at)) {
      copy(match->begin);
      size_t last = match->end - 1;
      while (last > match->begin && IsContinuation(static_cast<uint8_t>(in.bytes[last]))) --last;
      std::memcpy(out.bytes + size, content_.data(), content_.size());
      for (size_t i = 0; i < content_.size(); ++i) out.source[size++] = in.SourceOf(last);
      at = match->end;
    }
    copy(in.bytes.size());
    return size;
  }

 private:
  Pattern pattern_;
  std::string content_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_PATTERN_REPLACE_H_
