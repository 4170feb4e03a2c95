// PagedTable: a value for each code point, in pages; equal pages are kept once.
#ifndef TRELLIS_INTERNAL_TEXT_PAGED_TABLE_H_
#define TRELLIS_INTERNAL_TEXT_PAGED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

template <typename T>
class PagedTable {
 public:
  // `values` has one element a code point.
  explicit PagedTable(const std::vector<T>& values) : pages_(kPages) {
    std::map<std::string_view, uint16_t> known;
    for (size_t page = 0; page < kPages; ++page) {
      const T* begin = values.data() + page * kPageSize;
      const std::string_view bytes(reinterpret_cast<const char*>(begin), kPageSize * sizeof(T));
      const auto [at, is_new] = known.emplace(bytes, static_cast<uint16_t>(known.size()));
      if (is_new) values_.insert(values_.end(), begin, begin + kPageSize);
      pages_[page] = at->second;
    }
  }

  // `code_point` must not be above U+10FFFF.
  T operator[](uint32_t code_point) const {
    return values_[size_t{pages_[code_point / kPageSize]} * kPageSize + code_point % kPageSize];
  }

 private:
  static constexpr size_t kPageSize = 128;
  static constexpr size_t kPages = (kMaxCodePoint + 1) / kPageSize;
  std::vector<uint16_t> pages_;
  std::vector<T> values_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_PAGED_TABLE_H_
