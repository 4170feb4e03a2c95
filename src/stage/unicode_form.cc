#include "trellis/internal/stage/unicode_form.h"

#include <algorithm>
#include <array>

#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

// A letter on its way: code point, combining class, and what it does to the
// text's characters: 1 it is an insertion, 0 it stands for the next one, -n for
// that and n more.
class Letter {
 public:
  Letter(uint32_t code_point, uint32_t combining_class, int change)
      : packed_(code_point | combining_class << 21 | static_cast<uint32_t>(1 - change) << 29) {}
  explicit Letter(uint32_t packed) : packed_(packed) {}
  uint32_t packed() const { return packed_; }
  uint32_t code_point() const { return packed_ & 0x1FFFFF; }
  uint32_t combining_class() const { return packed_ >> 21 & 0xFF; }
  int change() const { return 1 - static_cast<int>(packed_ >> 29); }  // -6 at least; no character is composed of so many

 private:
  uint32_t packed_;
};

bool ClassLess(uint32_t a, uint32_t b) { return Letter(a).combining_class() < Letter(b).combining_class(); }

// Stable, by combining class. Natural runs have two or three marks; a hostile
// one must not cost its square.
void SortMarks(uint32_t* letters, size_t count, uint32_t* spare) {
  constexpr size_t kShort = 16;
  if (count < 2 || std::is_sorted(letters, letters + count, ClassLess)) return;
  if (count <= kShort) {
    for (size_t i = 1; i < count; ++i) {
      const uint32_t letter = letters[i];
      size_t at = i;
      for (; at > 0 && ClassLess(letter, letters[at - 1]); --at) letters[at] = letters[at - 1];
      letters[at] = letter;
    }
    return;
  }
  std::array<uint32_t, 257> begins = {};
  for (size_t i = 0; i < count; ++i) ++begins[Letter(letters[i]).combining_class() + 1];
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  for (size_t i = 0; i < count; ++i) spare[begins[Letter(letters[i]).combining_class()]++] = letters[i];
  std::copy_n(spare, count, letters);
}

}  // namespace

size_t UnicodeFormStep::Decompose(std::string_view text, uint32_t* letters, uint32_t* spare) const {
  size_t count = 0;
  size_t marks = 0;  // where those behind the last starter begin
  char32_t parts[NormalForms::kMaxLetters];
  while (!text.empty()) {
    const Decoded d = DecodeUtf8(text);
    text.remove_prefix(d.length);
    const size_t size = forms_->Decompose(d.code_point, kind_, parts);
    for (size_t i = 0; i < size; ++i) {
      const uint32_t combining_class = properties_->CombiningClass(parts[i]);
      if (combining_class == 0) {
        SortMarks(letters + marks, count - marks, spare);
        marks = count + 1;
      }
      letters[count++] = Letter(parts[i], combining_class, i == 0 ? 0 : 1).packed();
    }
  }
  SortMarks(letters + marks, count - marks, spare);
  return count;
}

size_t UnicodeFormStep::Compose(uint32_t* letters, size_t count) const {
  constexpr size_t kNone = SIZE_MAX;
  size_t size = 0;
  size_t starter = kNone;
  int last_class = -1;  // of the letters kept behind the starter; -1: there are none
  for (size_t i = 0; i < count; ++i) {
    const Letter letter(letters[i]);
    const auto combining_class = static_cast<int>(letter.combining_class());
    if (starter != kNone && last_class < combining_class) {
      const Letter first(letters[starter]);
      if (const uint32_t composed = forms_->Compose(first.code_point(), letter.code_point()); composed != 0) {
        letters[starter] = Letter(composed, 0, first.change() + letter.change() - 1).packed();
        continue;
      }
    }
    if (combining_class == 0) {
      starter = size;
      last_class = -1;
    } else if (starter != kNone) {
      last_class = combining_class;
    }
    letters[size++] = letter.packed();
  }
  return size;
}

size_t UnicodeFormStep::Run(const AlignedView& in, std::span<uint32_t> work, AlignedBuffer out) const {
  size_t count = Decompose(in.bytes, work.data(), out.source);
  if (composes_) count = Compose(work.data(), count);

  size_t size = 0;
  size_t cursor = 0;
  uint32_t last = 0;
  const auto advance = [&] {
    if (cursor >= in.bytes.size()) return;
    last = in.SourceOf(cursor);
    cursor += Utf8LengthFromLead(static_cast<uint8_t>(in.bytes[cursor]));
  };
  for (size_t i = 0; i < count; ++i) {
    const Letter letter(work[i]);
    int change = letter.change();
    if (change <= 0) advance();
    const uint32_t source = last;
    for (; change < 0; ++change) advance();
    const uint32_t length = EncodeUtf8(letter.code_point(), out.bytes + size);
    std::fill_n(out.source + size, length, source);
    size += length;
  }
  return size;
}

}  // namespace trellis::internal
