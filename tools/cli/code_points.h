// Byte offsets to code point offsets. A maximal ill-formed subsequence counts
// as one code point, as everywhere.
#ifndef TRELLIS_TOOLS_CLI_CODE_POINTS_H_
#define TRELLIS_TOOLS_CLI_CODE_POINTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "trellis/encoding.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::cli {

class CodePointOffsets {
 public:
  // Reads the text once; memory is kept for the next one.
  void SetText(std::string_view text) {
    starts_before_.clear();
    starts_before_.reserve(text.size() + 2);
    uint32_t count = 0;
    while (!text.empty()) {
      const uint32_t length = internal::DecodeUtf8(text).length;
      starts_before_.push_back(count++);
      starts_before_.insert(starts_before_.end(), length - 1, count);
      text.remove_prefix(length);
    }
    starts_before_.push_back(count);
  }

  // A range that ends inside a code point (byte pieces) is widened to it.
  Offset FromBytes(Offset bytes) const {
    uint32_t begin = starts_before_[bytes.begin];
    const bool inside = bytes.begin + 1 < starts_before_.size() && starts_before_[bytes.begin + 1] == begin;
    if (inside && begin > 0) --begin;
    return {begin, starts_before_[bytes.end]};
  }

 private:
  std::vector<uint32_t> starts_before_;  // for each byte: code points that start before it
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_CODE_POINTS_H_
