// Blank scan: where runs of other bytes than ASCII blanks begin and end.
//
// The first pass over a text. One kernel an instruction set, the same results
// from each; text of any bytes.
#ifndef TRELLIS_INTERNAL_TEXT_BLANK_SCAN_H_
#define TRELLIS_INTERNAL_TEXT_BLANK_SCAN_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "trellis/internal/text/isa.h"

namespace trellis::internal {

// A set of ASCII bytes: bit h of by_low_nibble[l] says that byte 16 h + l is in it.
struct AsciiSet {
  std::array<uint8_t, 16> by_low_nibble = {};

  void Add(uint8_t byte) {
    by_low_nibble[byte & 15] = static_cast<uint8_t>(by_low_nibble[byte & 15] | 1u << (byte >> 4));
  }
  void Remove(uint8_t byte) {
    if (byte < 0x80) by_low_nibble[byte & 15] = static_cast<uint8_t>(by_low_nibble[byte & 15] & ~(1u << (byte >> 4)));
  }
  bool Has(uint8_t byte) const { return byte < 0x80 && (by_low_nibble[byte & 15] >> (byte >> 4) & 1) != 0; }
};

// Kernels write whole vectors: so many more elements must be writable behind
// the last edge.
inline constexpr size_t kEdgeSlack = 64;

enum class InRun : uint8_t { kNo, kYes };

// Appends to `edges` the position base + i of every byte i of text[0, size) that
// differs from its predecessor in being outside `blanks` (a run begins) or
// inside (it ends). `in_run` says what the byte before text[0] was, and
// afterwards what the last one was. Returns the number of edges, at most size.
size_t FindEdges(const char* text, size_t size, const AsciiSet& blanks, uint32_t base, InRun& in_run,
                 uint32_t* edges);

// One kernel, for tests. `isa` must not be better than the machine's.
size_t FindEdgesWith(Isa isa, const char* text, size_t size, const AsciiSet& blanks, uint32_t base, InRun& in_run,
                     uint32_t* edges);

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_BLANK_SCAN_H_
