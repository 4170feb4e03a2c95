// encode_arrow: an Arrow array of texts, from whatever library, to one of lists of ids.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>

#include "python/src/arrow.h"
#include "python/src/bindings.h"
#include "python/src/options.h"
#include "python/src/raise.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

constexpr char kSchema[] = "arrow_schema", kArray[] = "arrow_array";

// Python's side of the lists.
struct TokenLists {
  std::shared_ptr<const ArrowLists> lists;
};

// What a capsule holds is released unless somebody has taken it over.
template <typename T>
void FreeCapsule(PyObject* capsule) {
  auto* value = static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (value == nullptr) return PyErr_Clear();
  if (value->release != nullptr) value->release(value);
  delete value;
}

template <typename T>
nb::object Capsule(std::unique_ptr<T> value, const char* name) {
  PyObject* capsule = PyCapsule_New(value.get(), name, &FreeCapsule<T>);
  if (capsule == nullptr) throw nb::python_error();
  value.release();
  return nb::steal(capsule);
}

template <typename T>
T& InCapsule(nb::handle capsule, const char* name) {
  auto* value = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (value == nullptr) throw nb::python_error();
  return *value;
}

nb::tuple ToCapsules(const TokenLists& self, nb::handle) {
  auto schema = std::make_unique<ArrowSchema>();
  ExportArrowSchema(*self.lists, *schema);
  nb::object schema_capsule = Capsule(std::move(schema), kSchema);
  auto array = std::make_unique<ArrowArray>();
  ExportArrowArray(self.lists, *array);
  return nb::make_tuple(schema_capsule, Capsule(std::move(array), kArray));
}

TokenLists EncodeArray(const PyTokenizer& self, nb::handle array, size_t threads,
                       const EncodeOptions& options) {
  if (!nb::hasattr(array, "__arrow_c_array__")) {
    throw nb::type_error((std::string("array: a ") + nb::type_name(array.type()).c_str() +
                          ", expected an Arrow array (with __arrow_c_array__)")
                             .c_str());
  }
  const nb::object capsules = array.attr("__arrow_c_array__")();
  const ArrowArray& from = InCapsule<ArrowArray>(capsules[1], kArray);
  ArrowTexts texts;
  RaiseIfError(ReadArrowTexts(InCapsule<ArrowSchema>(capsules[0], kSchema), from, texts));
  auto lists = std::make_shared<ArrowLists>();
  absl::Status status;
  {
    const nb::gil_scoped_release released;
    // A null text has no tokens, not even the template's.
    absl::StatusOr<IdRows> rows = EncodeIdRows(
        *self.loaded, {texts.inputs, texts.bytes, options, threads, false, "array", texts.validity});
    status = rows.ok() ? MakeArrowLists(*std::move(rows), texts, *lists) : rows.status();
  }
  RaiseIfError(status);
  return {std::move(lists)};
}

}  // namespace

void BindArrow(nb::module_& module, TokenizerClass& tokenizer) {
  nb::class_<TokenLists>(module, "TokenLists",
                         "Rows of ids as an Arrow array of lists, for any library that reads Arrow.")
      .def("__len__", [](const TokenLists& self) { return self.lists->rows.rows(); })
      .def_prop_ro("num_tokens", [](const TokenLists& self) { return self.lists->rows.tokens(); })
      .def("__arrow_c_array__", &ToCapsules, "requested_schema"_a = nb::none(),
           nb::sig("def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, "
                   "object]"));
  tokenizer.def(
      "encode_arrow", WithOptions<const PyTokenizer&, nb::handle, size_t>(&EncodeArray), "array"_a,
      nb::kw_only(), "threads"_a = 0, TRELLIS_PYTHON_OPTIONS,
      "An Arrow array of string, large_string or binary to list<int32>, or large_list<int32> for the large "
      "ones;\n"
      "no text and no id is copied on the way. pyarrow.array() of the result is pyarrow's. Null stays null.\n"
      "Options as encode has them.");
}

}  // namespace trellis::python
