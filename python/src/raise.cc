#include "python/src/raise.h"

#include <nanobind/nanobind.h>

namespace trellis::python {

namespace nb = nanobind;

void Raise(const absl::Status& status) {
  const std::string message(status.message());
  PyObject* type = PyExc_ValueError;
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      type = PyExc_FileNotFoundError;
      break;
    case absl::StatusCode::kPermissionDenied:
      type = PyExc_PermissionError;
      break;
    case absl::StatusCode::kDataLoss:
      type = PyExc_OSError;
      break;
    case absl::StatusCode::kResourceExhausted:
      type = PyExc_MemoryError;
      break;
    case absl::StatusCode::kUnimplemented: {
      // The one class, whichever module raises it.
      const nb::object unsupported = nb::module_::import_("trellis._native").attr("UnsupportedError");
      PyErr_SetString(unsupported.ptr(), message.c_str());
      throw nb::python_error();
    }
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
      type = PyExc_RuntimeError;
      break;
    default:
      break;
  }
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

}  // namespace trellis::python
