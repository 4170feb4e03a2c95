// Statuses as Python exceptions, with the library's message.
#ifndef TRELLIS_PYTHON_RAISE_H_
#define TRELLIS_PYTHON_RAISE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trellis::python {

// FileNotFoundError, PermissionError and OSError for files, MemoryError, trellis.UnsupportedError, and
// ValueError for all else. With the GIL.
[[noreturn]] void Raise(const absl::Status& status);

inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

template <typename T>
T ValueOrRaise(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

// The same status with a place in front of its message.
inline absl::Status At(const std::string& place, const absl::Status& status) {
  return absl::Status(status.code(), place + ": " + std::string(status.message()));
}

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_RAISE_H_
