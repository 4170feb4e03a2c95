#include "trellis/code_point_offsets.h"

#include "trellis/internal/text/utf8.h"

namespace trellis {

void CodePointOffsets::SetText(std::string_view text) {
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

}  // namespace trellis
