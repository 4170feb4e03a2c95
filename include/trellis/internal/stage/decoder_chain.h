// DecoderChain: a file's decoders in order (tokenizers 0.22.2, decoders/ and
// decode_chain of normalizers/replace.rs and pre_tokenizers/metaspace.rs).
//
// Each step reads a list of tokens and writes one; no allocation but what
// pattern.h says of expressions.
#ifndef TRELLIS_INTERNAL_STAGE_DECODER_CHAIN_H_
#define TRELLIS_INTERNAL_STAGE_DECODER_CHAIN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trellis/internal/stage/clean_up.h"
#include "trellis/internal/stage/decoder.h"
#include "trellis/internal/stage/pattern.h"
#include "trellis/internal/stage/token_list.h"
#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis::internal {

enum class DecodeResult : uint8_t {
  kOk,
  kNoRoom,        // for the two lists
  kOverstripped,  // a Strip's `stop` reaches beyond a token's beginning
};

class ReplaceDecodeStep {
 public:
  explicit ReplaceDecodeStep(const ReplaceDecoder& spec)
      : pattern_(spec.is_regex ? Pattern::Kind::kRegex : Pattern::Kind::kString, spec.pattern), content_(spec.content) {}

  DecodeResult Run(std::string_view token, TokenPlace, TokenList& out) const {
    bool fits = out.Begin();
    size_t at = 0;
    while (const auto match = pattern_.Find(token, at)) {
      fits = fits && out.Append(token.substr(at, match->begin - at)) && out.Append(content_);
      at = match->end;
    }
    return fits && out.Append(token.substr(at)) ? DecodeResult::kOk : DecodeResult::kNoRoom;
  }
  size_t MaxBytes(size_t bytes, size_t) const {
    if (content_.size() <= pattern_.shortest()) return bytes;
    return bytes + bytes / pattern_.shortest() * (content_.size() - pattern_.shortest());
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class StripDecodeStep {
 public:
  explicit StripDecodeStep(const StripDecoder& spec) : spec_(spec) {}

  DecodeResult Run(std::string_view token, TokenPlace, TokenList& out) const {
    const std::string_view content = spec_.content;
    std::string_view kept = token;
    for (size_t i = 0; i < spec_.start && kept.starts_with(content); ++i) kept.remove_prefix(content.size());
    // Both ends are looked for in the whole token.
    std::string_view left = token;
    for (size_t i = 0; i < spec_.stop; ++i) {
      if (left.empty()) return DecodeResult::kOverstripped;
      if (!left.ends_with(content)) break;
      left.remove_suffix(content.size());
    }
    const size_t off_start = token.size() - kept.size(), off_end = token.size() - left.size();
    if (off_start + off_end > token.size()) return DecodeResult::kOverstripped;
    return out.Put(token.substr(off_start, left.size() - off_start)) ? DecodeResult::kOk : DecodeResult::kNoRoom;
  }
  size_t MaxBytes(size_t bytes, size_t) const { return bytes; }

 private:
  StripDecoder spec_;
};

class WordPieceDecodeStep {
 public:
  explicit WordPieceDecodeStep(const WordPieceDecoder& spec) : spec_(spec) {}

  DecodeResult Run(std::string_view token, TokenPlace place, TokenList& out) const {
    bool fits = out.Begin();
    if (place == TokenPlace::kLater) {
      if (token.starts_with(spec_.prefix)) {
        token.remove_prefix(spec_.prefix.size());
      } else {
        fits = fits && out.Append(" ");
      }
    }
    if (!fits || !out.Append(token)) return DecodeResult::kNoRoom;
    if (spec_.cleanup) out.ShortenNewest(CleanUp(CleanUpRules::kTokenizers, out.newest()));
    return DecodeResult::kOk;
  }
  size_t MaxBytes(size_t bytes, size_t tokens) const { return bytes + tokens; }

 private:
  WordPieceDecoder spec_;
};

// "<0xHH>" to its byte, read as Rust's from_str_radix does, which takes a plus.
inline std::optional<uint8_t> ByteOfToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  const int high = token[3] == '+' ? 0 : digit(token[3]);
  const int low = digit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

struct ByteFallbackDecodeStep {
  static DecodeResult Run(TokenList& list) {
    size_t run = 0;  // byte tokens that wait, as one token, for the run's end
    const auto end_run = [&] {
      if (run == 0 || IsWellFormedUtf8({list.newest().data(), list.newest().size()})) return true;
      list.DropNewest();
      bool fits = true;
      for (size_t i = 0; i < run && fits; ++i) fits = list.Put(kReplacementUtf8);
      return fits;
    };
    while (!list.AtEnd()) {
      const std::string_view token = list.Next();
      if (const std::optional<uint8_t> byte = ByteOfToken(token)) {
        const char bytes[] = {static_cast<char>(*byte)};
        if ((run++ == 0 && !list.Begin()) || !list.Append({bytes, 1})) return DecodeResult::kNoRoom;
        continue;
      }
      if (!end_run() || !list.Put(token)) return DecodeResult::kNoRoom;
      run = 0;
    }
    return end_run() ? DecodeResult::kOk : DecodeResult::kNoRoom;
  }
  // A byte token has six bytes.
  static size_t MaxBytes(size_t bytes, size_t) { return bytes; }
};

struct FuseDecodeStep {
  static DecodeResult Run(TokenList& list) {
    bool fits = list.Begin();
    while (fits && !list.AtEnd()) fits = list.Append(list.Next());
    return fits ? DecodeResult::kOk : DecodeResult::kNoRoom;
  }
  static size_t MaxBytes(size_t bytes, size_t) { return std::max(bytes, TokenList::kTokenBytes); }
};

// Metaspace in a chain; alone it needs no list (decoder.h).
class MetaspaceListStep {
 public:
  explicit MetaspaceListStep(const MetaspaceDecoder& spec) : step_(spec) {}
  DecodeResult Run(std::string_view token, TokenPlace place, TokenList& out) const {
    return out.Begin() && step_.Run(token, place, out) ? DecodeResult::kOk : DecodeResult::kNoRoom;
  }
  size_t MaxBytes(size_t bytes, size_t) const { return bytes; }

 private:
  MetaspaceDecodeStep step_;
};

class DecoderChain {
 public:
  // `decoders` must be valid and of the Hugging Face dialect.
  explicit DecoderChain(const std::vector<Decoder>& decoders) {
    for (const Decoder& decoder : decoders) {
      if (const auto* blanks = std::get_if<MetaspaceDecoder>(&decoder)) steps_.emplace_back(MetaspaceListStep(*blanks));
      if (const auto* replace = std::get_if<ReplaceDecoder>(&decoder)) steps_.emplace_back(ReplaceDecodeStep(*replace));
      if (const auto* strip = std::get_if<StripDecoder>(&decoder)) steps_.emplace_back(StripDecodeStep(*strip));
      if (const auto* words = std::get_if<WordPieceDecoder>(&decoder)) steps_.emplace_back(WordPieceDecodeStep(*words));
      if (std::holds_alternative<ByteFallbackDecoder>(decoder)) steps_.emplace_back(ByteFallbackDecodeStep());
      if (std::holds_alternative<FuseDecoder>(decoder)) steps_.emplace_back(FuseDecodeStep());
    }
  }

  // Runs all steps over the tokens that were put into `list`; their results are
  // in it then.
  DecodeResult Run(TokenList& list) const {
    for (const Step& step : steps_) {
      list.Turn();
      const DecodeResult result = std::visit([&](const auto& one) { return RunStep(one, list); }, step);
      if (result != DecodeResult::kOk) return result;
    }
    return DecodeResult::kOk;
  }

  // Memory that is enough for so many tokens of so many bytes together.
  size_t ListBytes(size_t bytes, size_t tokens) const {
    // Of many steps that replace, the worst case of each after that of the one
    // before soon has no number any more.
    constexpr size_t kMostBytes = size_t{1} << 40;
    size_t now = bytes + tokens * TokenList::kTokenBytes;
    size_t most = now;
    for (const Step& step : steps_) {
      const size_t next =
          std::min(kMostBytes, std::visit([&](const auto& one) { return one.MaxBytes(now, tokens); }, step));
      most = std::max(most, now + next);
      now = next;
    }
    return most;
  }

 private:
  using Step = std::variant<MetaspaceListStep, ReplaceDecodeStep, StripDecodeStep, WordPieceDecodeStep,
                            ByteFallbackDecodeStep, FuseDecodeStep>;

  template <typename One>
  static DecodeResult RunStep(const One& step, TokenList& list) {
    if constexpr (requires { step.Run(list); }) {
      return step.Run(list);
    } else {
      for (TokenPlace place = TokenPlace::kFirst; !list.AtEnd(); place = TokenPlace::kLater) {
        const DecodeResult result = step.Run(list.Next(), place, list);
        if (result != DecodeResult::kOk) return result;
      }
      return DecodeResult::kOk;
    }
  }

  std::vector<Step> steps_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_DECODER_CHAIN_H_
