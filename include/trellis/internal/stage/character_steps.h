// Normalizers that look at one character at a time (tokenizers 0.22.2,
// normalizers/{bert,strip,unicode,prepend,utils}.rs).
//
// Whatever becomes of a character is aligned with that character; what is taken
// away leaves no trace. Input is well formed. No allocation, no lock.
#ifndef TRELLIS_INTERNAL_STAGE_CHARACTER_STEPS_H_
#define TRELLIS_INTERNAL_STAGE_CHARACTER_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "trellis/internal/text/alignment.h"
#include "trellis/internal/text/hf_properties.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/spec.h"

namespace trellis::internal {

// Appends characters that stand for one of the source.
class AlignedWriter {
 public:
  explicit AlignedWriter(AlignedBuffer out) : out_(out) {}
  void Append(std::string_view bytes, uint32_t source) {
    std::memcpy(out_.bytes + size_, bytes.data(), bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) out_.source[size_ + i] = source;
    size_ += bytes.size();
  }
  void Append(uint32_t code_point, uint32_t source) {
    char bytes[kMaxUtf8Bytes];
    Append(std::string_view(bytes, EncodeUtf8(code_point, bytes)), source);
  }
  size_t size() const { return size_; }

 private:
  AlignedBuffer out_;
  size_t size_ = 0;
};

// Calls rewrite(code_point, source, writer) for each character; returns the bytes written.
template <typename Rewrite>
size_t RunCharacters(const AlignedView& in, AlignedBuffer out, Rewrite rewrite) {
  AlignedWriter writer(out);
  for (size_t at = 0; at < in.bytes.size();) {
    const Decoded d = DecodeUtf8(in.bytes.substr(at));
    rewrite(d.code_point, in.SourceOf(at), writer);
    at += d.length;
  }
  return writer.size();
}

// Steps that never make a text longer.
class ShrinkingStep {
 public:
  size_t MaxBytes(size_t input_bytes) const { return input_bytes; }
  size_t MaxCharacters(size_t /*input_bytes*/, size_t input_characters) const { return input_characters; }
};

// Takes the characters of one class away.
class RemoveStep : public ShrinkingStep {
 public:
  using Class = bool (HfProperties::*)(uint32_t) const;
  explicit RemoveStep(Class removed) : removed_(removed), properties_(&HfProperties::Get()) {}
  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    return RunCharacters(in, out, [this](uint32_t c, uint32_t source, AlignedWriter& writer) {
      if (!(properties_->*removed_)(c)) writer.Append(c, source);
    });
  }

 private:
  Class removed_;
  const HfProperties* properties_;
};

// BertNormalizer's clean_text: control characters go, White_Space becomes a blank.
class CleanTextStep : public ShrinkingStep {
 public:
  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    return RunCharacters(in, out, [this](uint32_t c, uint32_t source, AlignedWriter& writer) {
      if (!properties_->IsBertControl(c)) writer.Append(IsWhitespace(c) ? ' ' : c, source);
    });
  }

 private:
  const HfProperties* properties_ = &HfProperties::Get();
};

class NmtStep : public ShrinkingStep {
 public:
  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    return RunCharacters(in, out, [](uint32_t c, uint32_t source, AlignedWriter& writer) {
      if (!IsRemoved(c)) writer.Append(IsBlank(c) ? ' ' : c, source);
    });
  }

 private:
  static bool IsRemoved(uint32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  }
  static bool IsBlank(uint32_t c) {
    return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == kReplacementCharacter;
  }
};

class LowercaseStep {
 public:
  // U+0130 grows from two bytes to three, others from two to three or shrink.
  size_t MaxBytes(size_t input_bytes) const { return input_bytes + input_bytes / 2; }
  size_t MaxCharacters(size_t input_bytes, size_t input_characters) const {
    return input_characters + input_bytes / 2;
  }
  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    return RunCharacters(in, out, [this](uint32_t c, uint32_t source, AlignedWriter& writer) {
      if (c == 0x130) {
        writer.Append(std::string_view("i\u0307"), source);
      } else {
        writer.Append(properties_->Lowercase(c), source);
      }
    });
  }

 private:
  const HfProperties* properties_ = &HfProperties::Get();
};

// BertNormalizer's handle_chinese_chars: blanks around ideographs.
class IdeographStep {
 public:
  // An ideograph has three bytes at least.
  size_t MaxBytes(size_t input_bytes) const { return input_bytes + input_bytes / 3 * 2; }
  size_t MaxCharacters(size_t input_bytes, size_t input_characters) const {
    return input_characters + input_bytes / 3 * 2;
  }
  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    return RunCharacters(in, out, [](uint32_t c, uint32_t source, AlignedWriter& writer) {
      const bool blanks = IsIdeograph(c);
      if (blanks) writer.Append(" ", source);
      writer.Append(c, source);
      if (blanks) writer.Append(" ", source);
    });
  }

 private:
  // The blocks that BERT's own code lists; U+2B820..U+2B91F is missing there too.
  static bool IsIdeograph(uint32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
  }
};

class StripStep : public ShrinkingStep {
 public:
  explicit StripStep(const StripNormalizer& spec) : left_(spec.strip_left), right_(spec.strip_right) {}
  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    const size_t begin = left_ ? LeadingWhitespace(in.bytes) : 0;
    const size_t end = in.bytes.size() - (right_ ? TrailingWhitespace(in.bytes.substr(begin)) : 0);
    for (size_t i = begin; i < end; ++i) {
      out.bytes[i - begin] = in.bytes[i];
      out.source[i - begin] = in.SourceOf(i);
    }
    return end - begin;
  }

 private:
  bool left_;
  bool right_;
};

// What is put in front is aligned with the first character.
class PrependStep {
 public:
  explicit PrependStep(std::string text) : text_(std::move(text)) {}
  size_t MaxBytes(size_t input_bytes) const { return input_bytes == 0 ? 0 : input_bytes + text_.size(); }
  // Of several texts, none of them empty, each of which gets a string in front.
  size_t MaxBytesOfTexts(size_t input_bytes) const { return input_bytes * (1 + text_.size()); }
  size_t MaxCharacters(size_t /*input_bytes*/, size_t input_characters) const {
    return input_characters * (1 + text_.size());
  }
  size_t Run(const AlignedView& in, AlignedBuffer out) const {
    AlignedWriter writer(out);
    if (in.bytes.empty()) return 0;
    writer.Append(text_, in.SourceOf(0));
    for (size_t i = 0; i < in.bytes.size(); ++i) writer.Append(in.bytes.substr(i, 1), in.SourceOf(i));
    return writer.size();
  }

 private:
  std::string text_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_CHARACTER_STEPS_H_
