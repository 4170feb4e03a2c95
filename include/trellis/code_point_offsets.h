// CodePointOffsets: byte offsets as offsets in code points, as the reference's
// wheel and most languages' strings count. A maximal ill-formed subsequence
// counts as one code point, as everywhere.
#ifndef TRELLIS_CODE_POINT_OFFSETS_H_
#define TRELLIS_CODE_POINT_OFFSETS_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trellis/encoding.h"

namespace trellis {

class CodePointOffsets {
 public:
  // Reads the text once. Takes four bytes a byte of text; the memory is kept for
  // the next one.
  void SetText(std::string_view text);

  // What lies beyond the text's end is its end. A range that ends inside a code point (byte
  // pieces) is widened to it.
  Offset FromBytes(Offset bytes) const {
    if (starts_before_.empty()) return {0, 0};
    const auto last = static_cast<uint32_t>(starts_before_.size() - 1);
    bytes = {std::min(bytes.begin, last), std::min(bytes.end, last)};
    uint32_t begin = starts_before_[bytes.begin];
    const bool inside = bytes.begin + 1 < starts_before_.size() && starts_before_[bytes.begin + 1] == begin;
    if (inside && begin > 0) --begin;
    return {begin, starts_before_[bytes.end]};
  }

 private:
  std::vector<uint32_t> starts_before_;  // for each byte: code points that start before it
};

}  // namespace trellis

#endif  // TRELLIS_CODE_POINT_OFFSETS_H_
