// trellis_columns as the library's spans.
#ifndef TRELLIS_SRC_C_API_COLUMNS_H_
#define TRELLIS_SRC_C_API_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "src/c_api/report.h"
#include "src/c_api/versioned.h"
#include "trellis/c_api.h"
#include "trellis/encoding.h"

namespace trellis::c_api {

// One memory, two names.
static_assert(sizeof(trellis_offset) == sizeof(Offset) &&
              offsetof(trellis_offset, begin) == offsetof(Offset, begin) &&
              offsetof(trellis_offset, end) == offsetof(Offset, end) &&
              alignof(trellis_offset) == alignof(Offset));

inline constexpr size_t kMostTokens =
    static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()) / sizeof(Offset);

inline Offset* AsOffsets(trellis_offset* offsets) { return reinterpret_cast<Offset*>(offsets); }

// A part of a column; empty where the column is not wanted.
template <typename T>
std::span<T> Part(T* column, size_t begin, size_t size) {
  return column == nullptr ? std::span<T>() : std::span<T>(column + begin, size);
}

// The room that is left from token `at` on, without cu_seqlens.
inline EncodingBuffer BufferFrom(const trellis_columns& columns, size_t at) {
  const size_t room = columns.capacity - at;
  return {Part(columns.ids, at, room),
          Part(AsOffsets(columns.offsets), at, room),
          Part(columns.type_ids, at, room),
          Part(columns.special_tokens_mask, at, room),
          {}};
}

// The caller's columns, `name` being the argument, with nothing written yet.
inline std::optional<trellis_columns> ReadColumns(const trellis_columns* from, const char* name,
                                                  const Report& report) {
  if (from == nullptr) {
    report.Failf(TRELLIS_INVALID_ARGUMENT, "%s: NULL, expected columns", name);
    return std::nullopt;
  }
  const auto columns = ReadStruct(from, name, report);
  if (!columns) return std::nullopt;
  if (columns->capacity > kMostTokens || columns->cu_seqlens_capacity > kMostTokens) {
    report.Failf(TRELLIS_INVALID_ARGUMENT, "%s.capacity or cu_seqlens_capacity: larger than memory", name);
    return std::nullopt;
  }
  if (columns->ids == nullptr && columns->capacity != 0) {
    report.Failf(TRELLIS_INVALID_ARGUMENT, "%s.ids: NULL, expected room for %zu tokens", name,
                 columns->capacity);
    return std::nullopt;
  }
  return columns;
}

inline void ClearWritten(trellis_columns& columns) {
  columns.num_tokens = columns.num_rows = columns.num_truncated = columns.needed_tokens =
      columns.needed_rows = 0;
}

}  // namespace trellis::c_api

#endif  // TRELLIS_SRC_C_API_COLUMNS_H_
