// A text with U+FFFD for each maximal ill-formed part (Unicode 15, table 3-7 and
// "U+FFFD Substitution of Maximal Subparts"), written as plainly as the table,
// and the way back from its bytes to the original's.
#ifndef TRELLIS_TESTS_REFERENCE_UTF8_REPLACEMENT_H_
#define TRELLIS_TESTS_REFERENCE_UTF8_REPLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::reference {

struct Replaced {
  std::string text;
  // original[i]: offset in the original of what byte i of `text` belongs to the
  // start of; only meaningful where a character starts, and at the end.
  std::vector<uint32_t> original;
};

inline Replaced ReplaceMalformed(std::string_view bytes) {
  Replaced out;
  const auto append = [&](std::string_view character, size_t at) {
    out.text += character;
    out.original.resize(out.text.size(), static_cast<uint32_t>(at));
  };
  const auto in = [](uint8_t byte, uint8_t low, uint8_t high) { return low <= byte && byte <= high; };
  size_t at = 0;
  while (at < bytes.size()) {
    const uint8_t lead = static_cast<uint8_t>(bytes[at]);
    size_t length = 1;
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
    bool well_formed = lead < 0x80;
    if (in(lead, 0xC2, 0xDF)) length = 2;
    if (in(lead, 0xE0, 0xEF)) length = 3;
    if (in(lead, 0xF0, 0xF4)) length = 4;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    size_t used = 1;
    while (used < length && at + used < bytes.size() &&
           in(static_cast<uint8_t>(bytes[at + used]), low, high)) {
      ++used;
      low = 0x80;
      high = 0xBF;
    }
    if (length > 1) well_formed = used == length;
    append(well_formed ? bytes.substr(at, used) : "\xEF\xBF\xBD", at);
    at += used;
  }
  out.original.push_back(static_cast<uint32_t>(bytes.size()));
  return out;
}

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_UTF8_REPLACEMENT_H_
