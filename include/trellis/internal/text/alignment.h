// Alignment: which character of the source each byte of a rewritten text stands
// for.
#ifndef TRELLIS_INTERNAL_TEXT_ALIGNMENT_H_
#define TRELLIS_INTERNAL_TEXT_ALIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trellis::internal {

// Text with alignment. `source` is nullptr while the text still is the source
// itself; then byte i begins at origin + i. Only that first text may be malformed.
struct AlignedView {
  std::string_view bytes;
  const uint32_t* source = nullptr;
  uint32_t origin = 0;  // where an unaligned text begins in the source

  // Source position of the character that begins at bytes[i].
  uint32_t SourceOf(size_t i) const { return source != nullptr ? source[i] : origin + static_cast<uint32_t>(i); }
};

// Where a stage writes; room for MaxBytes of both.
struct AlignedBuffer {
  char* bytes;
  uint32_t* source;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_ALIGNMENT_H_
