// Memory of ours as a numpy array, without a copy. numpy is imported by the first one.
#ifndef TRELLIS_PYTHON_NUMPY_ARRAY_H_
#define TRELLIS_PYTHON_NUMPY_ARRAY_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace trellis::python {

template <typename T>
using Array1 = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>, nanobind::c_contig>;
template <typename T>
using Array2 = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>, nanobind::c_contig>;

template <typename T>
nanobind::capsule OwnerOf(std::unique_ptr<T[]> memory) {
  return nanobind::capsule(memory.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
}

template <typename T>
Array1<T> ToNumpy(std::unique_ptr<T[]> memory, size_t size) {
  T* values = memory.get();
  return Array1<T>(values, {size}, OwnerOf(std::move(memory)));
}

template <typename T>
Array2<T> ToNumpy(std::unique_ptr<T[]> memory, size_t rows, size_t columns) {
  T* values = memory.get();
  return Array2<T>(values, {rows, columns}, OwnerOf(std::move(memory)));
}

template <typename T>
Array1<T> ToNumpy(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  return Array1<T>(owned->data(), {owned->size()}, nanobind::capsule(owned, [](void* p) noexcept {
                     delete static_cast<std::vector<T>*>(p);
                   }));
}

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_NUMPY_ARRAY_H_
