// Structs of the C interface that grow: the caller's may be shorter or longer than
// ours, and zero is the default of each field.
#ifndef TRELLIS_SRC_C_API_VERSIONED_H_
#define TRELLIS_SRC_C_API_VERSIONED_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "src/c_api/report.h"
#include "trellis/c_api.h"

namespace trellis::c_api {

// The size that the struct had when it was first published. Once a field is added,
// this is the offset of that field.
template <typename T>
inline constexpr size_t kFirstSize = sizeof(T);

// Copies the caller's struct; nullopt: said in `report`, `name` being the argument.
template <typename T>
std::optional<T> ReadStruct(const T* from, const char* name, const Report& report) {
  T out{};
  out.struct_size = sizeof(T);
  const size_t size = from->struct_size;
  if (size < kFirstSize<T>) {
    report.Failf(TRELLIS_INVALID_ARGUMENT, "%s.struct_size: %zu, expected at least %zu", name, size,
                 kFirstSize<T>);
    return std::nullopt;
  }
  // A size that is no size of a struct, before bytes are read that far.
  constexpr size_t kLargest = 4096;
  if (size > kLargest) {
    report.Failf(TRELLIS_INVALID_ARGUMENT, "%s.struct_size: %zu, expected %zu", name, size, sizeof(T));
    return std::nullopt;
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] == 0) continue;
    report.Failf(TRELLIS_INVALID_ARGUMENT,
                 "%s.struct_size: %zu, with a field set at byte %zu that this library (%s) does not know",
                 name, size, i, trellis_version());
    return std::nullopt;
  }
  std::memcpy(&out, from, std::min(size, sizeof(T)));
  return out;
}

// The defaults where there is none.
template <typename T>
std::optional<T> ReadOptions(const T* from, const char* name, const Report& report) {
  return from == nullptr ? T{} : ReadStruct(from, name, report);
}

// Back into the caller's struct, as much of it as there is.
template <typename T>
void WriteStruct(T value, T* to) {
  const size_t size = to->struct_size;
  value.struct_size = size;
  std::memcpy(to, &value, std::min(size, sizeof(T)));
}

// A field that must not be above `most`.
struct Field {
  const char* name;
  uint32_t value;
  uint32_t most;
};
template <size_t kCount>
bool FieldsFit(const Field (&fields)[kCount], const Report& report) {
  for (const Field& field : fields) {
    if (field.value <= field.most) continue;
    report.Failf(TRELLIS_INVALID_ARGUMENT, "%s: %lu, expected %s%lu", field.name,
                 static_cast<unsigned long>(field.value), field.most == 0 ? "" : "0 to ",
                 static_cast<unsigned long>(field.most));
    return false;
  }
  return true;
}

}  // namespace trellis::c_api

#endif  // TRELLIS_SRC_C_API_VERSIONED_H_
