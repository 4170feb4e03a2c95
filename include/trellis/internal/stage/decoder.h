// Decoder: ids to text (tokenizers 0.22.2, tokenizer/mod.rs decode and
// pre_tokenizers/metaspace.rs decode_chain).
//
// Writes into a bounded buffer, one token at a time; no allocation.
#ifndef TRELLIS_INTERNAL_STAGE_DECODER_H_
#define TRELLIS_INTERNAL_STAGE_DECODER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "trellis/spec.h"

namespace trellis::internal {

// Appends to a caller's buffer until it is full.
class TextSink {
 public:
  explicit TextSink(std::span<char> out) : out_(out) {}
  bool Append(std::string_view text) {
    if (text.size() > out_.size() - size_) return false;
    if (!text.empty()) std::memcpy(out_.data() + size_, text.data(), text.size());
    size_ += text.size();
    return true;
  }
  std::string_view text() const { return {out_.data(), size_}; }

 private:
  std::span<char> out_;
  size_t size_ = 0;
};

enum class TokenPlace : uint8_t { kFirst, kLater };

// Metaspace: the replacement becomes a blank; in the first token it vanishes,
// unless nothing was put in front when the text was encoded.
class MetaspaceDecodeStep {
 public:
  explicit MetaspaceDecodeStep(const MetaspaceDecoder& spec)
      : replacement_(spec.replacement), drop_first_(spec.prepend_scheme != PrependScheme::kNever) {}

  // `out` is a TextSink or a TokenList.
  template <typename Sink>
  bool Run(std::string_view token, TokenPlace place, Sink& out) const {
    while (!token.empty()) {
      const size_t at = std::min(token.find(replacement_), token.size());
      if (!out.Append(token.substr(0, at))) return false;
      if (at == token.size()) break;
      if (!(drop_first_ && place == TokenPlace::kFirst) && !out.Append(" ")) return false;
      token.remove_prefix(at + replacement_.size());
    }
    return true;
  }

 private:
  std::string replacement_;
  bool drop_first_;
};

// No decoder: tokens with blanks between.
inline bool RunJoin(std::string_view token, TokenPlace place, TextSink& out) {
  return (place == TokenPlace::kFirst || out.Append(" ")) && out.Append(token);
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_DECODER_H_
