#include "python/src/ids.h"

#include <nanobind/ndarray.h>

#include <cstdint>
#include <limits>

namespace trellis::python {

namespace nb = nanobind;

namespace {

template <typename T>
using IdArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

TokenId IdOf(int64_t id, size_t i, const std::string& place) {
  if (id < 0 || id > std::numeric_limits<TokenId>::max()) {
    throw nb::value_error(
        (place + "[" + std::to_string(i) + "]: " + std::to_string(id) + ", expected an id from 0 to 2^31 - 1")
            .c_str());
  }
  return static_cast<TokenId>(id);
}

// Whether it was an array of T.
template <typename T>
bool Append(nb::handle ids, const std::string& place, std::vector<TokenId>& out) {
  IdArray<T> row;
  if (!nb::try_cast(ids, row, false)) return false;
  out.reserve(row.shape(0));
  for (size_t i = 0; i < row.shape(0); ++i)
    out.push_back(IdOf(static_cast<int64_t>(row.data()[i]), i, place));
  return true;
}

}  // namespace

std::vector<TokenId> IdsOf(nb::handle ids, const std::string& place) {
  std::vector<TokenId> out;
  const bool plain = PyList_Check(ids.ptr()) || PyTuple_Check(ids.ptr());
  if (!plain && (Append<int32_t>(ids, place, out) || Append<int64_t>(ids, place, out) ||
                 Append<uint32_t>(ids, place, out))) {
    return out;
  }
  PyObject* elements = PyUnicode_Check(ids.ptr()) ? nullptr : PyObject_GetIter(ids.ptr());
  if (elements == nullptr) {
    PyErr_Clear();
    throw nb::type_error(
        (place + ": a " + nb::type_name(ids.type()).c_str() + ", expected a list of ids").c_str());
  }
  const nb::object iterator = nb::steal(elements);
  while (PyObject* next = PyIter_Next(iterator.ptr())) {
    const nb::object element = nb::steal(next);
    PyObject* number = PyNumber_Index(element.ptr());
    if (number == nullptr) {
      PyErr_Clear();
      throw nb::type_error((place + "[" + std::to_string(out.size()) + "]: a " +
                            nb::type_name(element.type()).c_str() + ", expected an id")
                               .c_str());
    }
    int overflow = 0;
    const long long id = PyLong_AsLongLongAndOverflow(nb::steal(number).ptr(), &overflow);
    out.push_back(IdOf(overflow != 0 ? -1 : id, out.size(), place));
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return out;
}

}  // namespace trellis::python
