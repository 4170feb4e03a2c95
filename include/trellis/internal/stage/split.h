// Splits: pre-tokenizers that cut a text and change nothing in it (tokenizers
// 0.22.2, pre_tokenizers/*.rs and NormalizedString::split).
//
// Each reads ranges of one well-formed text and writes ranges, in order and not
// empty; never more than bytes. No allocation beyond pattern.h's, no lock.
#ifndef TRELLIS_INTERNAL_STAGE_SPLIT_H_
#define TRELLIS_INTERNAL_STAGE_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "trellis/internal/stage/pattern.h"
#include "trellis/internal/stage/pre_token.h"
#include "trellis/internal/text/alignment.h"
#include "trellis/internal/text/hf_properties.h"
#include "trellis/internal/text/unicode_tables.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis::internal {

// Ranges as they are written.
class RangeWriter {
 public:
  RangeWriter(const AlignedView& text, std::span<PreToken> out) : text_(text), out_(out) {}
  void Append(uint32_t begin, uint32_t end) {
    if (begin < end) out_[count_++] = {begin, end, text_.SourceOf(begin)};
  }
  void ExtendLast(uint32_t end) { out_[count_ - 1].end = end; }
  size_t count() const { return count_; }

 private:
  AlignedView text_;
  std::span<PreToken> out_;
  size_t count_ = 0;
};

// Gets one range of text as a row of pieces, matches and what lies between, and
// writes what a behavior makes of them.
class SplitWriter {
 public:
  SplitWriter(SplitBehavior behavior, RangeWriter& out) : behavior_(behavior), out_(out), first_(out.count()) {}

  void Piece(uint32_t begin, uint32_t end, bool is_match) {
    if (begin >= end) return;
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!is_match) out_.Append(begin, end);
        break;
      case SplitBehavior::kIsolated:
        out_.Append(begin, end);
        break;
      case SplitBehavior::kContiguous:
        AppendOrExtend(begin, end, is_match == after_match_);
        break;
      case SplitBehavior::kMergedWithPrevious:
        AppendOrExtend(begin, end, is_match && !after_match_);
        break;
      case SplitBehavior::kMergedWithNext:
        // A match waits for what follows it.
        if (after_match_) {
          out_.Append(waiting_, is_match ? begin : end);
        } else if (!is_match) {
          out_.Append(begin, end);
        }
        waiting_ = begin;
        break;
    }
    after_match_ = is_match;
    end_ = end;
  }

  void Finish() {
    if (behavior_ == SplitBehavior::kMergedWithNext && after_match_) out_.Append(waiting_, end_);
  }

 private:
  void AppendOrExtend(uint32_t begin, uint32_t end, bool extend) {
    if (extend && out_.count() > first_) {
      out_.ExtendLast(end);
    } else {
      out_.Append(begin, end);
    }
  }

  SplitBehavior behavior_;
  RangeWriter& out_;
  size_t first_;  // ranges before this text
  bool after_match_ = false;
  uint32_t waiting_ = 0;
  uint32_t end_ = 0;
};

// Cuts at each character of a class.
template <typename IsMatch>
size_t RunCharacterSplit(const AlignedView& text, std::span<const PreToken> in, SplitBehavior behavior,
                         std::span<PreToken> out, IsMatch is_match) {
  RangeWriter ranges(text, out);
  for (const PreToken& range : in) {
    SplitWriter writer(behavior, ranges);
    uint32_t begin = range.begin;
    for (uint32_t at = range.begin; at < range.end;) {
      const Decoded d = DecodeUtf8(text.bytes.substr(at));
      if (is_match(d.code_point)) {
        writer.Piece(begin, at, false);
        writer.Piece(at, at + d.length, true);
        begin = at + d.length;
      }
      at += d.length;
    }
    writer.Piece(begin, range.end, false);
    writer.Finish();
  }
  return ranges.count();
}

class PunctuationStep {
 public:
  explicit PunctuationStep(SplitBehavior behavior) : behavior_(behavior), properties_(&HfProperties::Get()) {}
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    return RunCharacterSplit(text, in, behavior_, out, [this](uint32_t c) { return properties_->IsPunctuation(c); });
  }

 private:
  SplitBehavior behavior_;
  const HfProperties* properties_;
};

class DigitsStep {
 public:
  explicit DigitsStep(const DigitsPreTokenizer& spec)
      : behavior_(spec.individual_digits ? SplitBehavior::kIsolated : SplitBehavior::kContiguous),
        properties_(&HfProperties::Get()) {}
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    return RunCharacterSplit(text, in, behavior_, out, [this](uint32_t c) { return properties_->IsNumeric(c); });
  }

 private:
  SplitBehavior behavior_;
  const HfProperties* properties_;
};

class WhitespaceSplitStep {
 public:
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    return RunCharacterSplit(text, in, SplitBehavior::kRemoved, out, IsWhitespace);
  }
};

class CharDelimiterStep {
 public:
  // One well-formed character.
  explicit CharDelimiterStep(std::string_view delimiter) : delimiter_(DecodeUtf8(delimiter).code_point) {}
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    return RunCharacterSplit(text, in, SplitBehavior::kRemoved, out, [this](uint32_t c) { return c == delimiter_; });
  }

 private:
  uint32_t delimiter_;
};

// Whitespace: runs of word characters, and of what is neither that nor blank.
class WordRunsStep {
 public:
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    enum class Kind : uint8_t { kBlank, kWord, kOther };
    RangeWriter ranges(text, out);
    for (const PreToken& range : in) {
      Kind kind = Kind::kBlank;
      uint32_t begin = range.begin;
      for (uint32_t at = range.begin; at < range.end;) {
        const Decoded d = DecodeUtf8(text.bytes.substr(at));
        const Kind next = IsWordCharacter(d.code_point) ? Kind::kWord
                          : IsWhitespace(d.code_point)  ? Kind::kBlank
                                                        : Kind::kOther;
        if (next != kind) {
          if (kind != Kind::kBlank) ranges.Append(begin, at);
          begin = at;
          kind = next;
        }
        at += d.length;
      }
      if (kind != Kind::kBlank) ranges.Append(begin, range.end);
    }
    return ranges.count();
  }
};

// UnicodeScripts: a cut in front of each character whose script is another than
// that of the last one that had any. Japanese scripts count as one. What stands
// before the first character with a script is lost, as in the reference.
class UnicodeScriptsStep {
 public:
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    RangeWriter ranges(text, out);
    for (const PreToken& range : in) {
      uint8_t script = 0;
      uint32_t begin = range.begin;
      for (uint32_t at = range.begin; at < range.end;) {
        const Decoded d = DecodeUtf8(text.bytes.substr(at));
        const uint8_t next = properties_->Script(d.code_point);
        if (next != 0 && next != script) {
          if (script != 0) ranges.Append(begin, at);
          begin = at;
          script = next;
        }
        at += d.length;
      }
      if (script != 0) ranges.Append(begin, range.end);
    }
    return ranges.count();
  }

 private:
  const HfProperties* properties_ = &HfProperties::Get();
};

class FixedLengthStep {
 public:
  explicit FixedLengthStep(const FixedLengthPreTokenizer& spec) : length_(spec.length) {}
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    RangeWriter ranges(text, out);
    for (const PreToken& range : in) {
      uint32_t begin = range.begin;
      uint32_t characters = 0;
      for (uint32_t at = range.begin; at < range.end; ++characters) {
        if (characters == length_) {
          ranges.Append(begin, at);
          begin = at;
          characters = 0;
        }
        at += Utf8LengthFromLead(static_cast<uint8_t>(text.bytes[at]));
      }
      ranges.Append(begin, range.end);
    }
    return ranges.count();
  }

 private:
  uint32_t length_;
};

class PatternSplitStep {
 public:
  explicit PatternSplitStep(const SplitPreTokenizer& spec)
      : pattern_(spec.is_regex ? Pattern::Kind::kRegex : Pattern::Kind::kString, spec.pattern),
        behavior_(spec.behavior),
        invert_(spec.invert) {}
  size_t Run(const AlignedView& text, std::span<const PreToken> in, std::span<PreToken> out) const {
    RangeWriter ranges(text, out);
    for (const PreToken& range : in) {
      // Nothing before or behind the range is seen, as for the reference.
      const std::string_view bytes = text.bytes.substr(range.begin, range.end - range.begin);
      SplitWriter writer(behavior_, ranges);
      size_t at = 0;
      const auto piece = [&](size_t begin, size_t end, bool is_match) {
        writer.Piece(range.begin + static_cast<uint32_t>(begin), range.begin + static_cast<uint32_t>(end), is_match);
      };
      while (const auto match = pattern_.Find(bytes, at)) {
        piece(at, match->begin, invert_);
        piece(match->begin, match->end, !invert_);
        at = match->end;
      }
      piece(at, bytes.size(), invert_);
      writer.Finish();
    }
    return ranges.count();
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_SPLIT_H_
