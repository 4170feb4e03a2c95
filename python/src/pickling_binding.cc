// Pickles and copies of a tokenizer: it goes to other processes whole, and needs no copy within its own.
#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "python/src/bindings.h"
#include "python/src/raise.h"
#include "python/src/texts.h"
#include "trellis/internal/compiled.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// What save_compiled writes: all of it, so that the file that it was made of may be elsewhere or gone, and in
// the form that opens fastest. Made once: a pool's every task may be pickled with it.
nb::object GetState(PyTokenizer& self) {
  if (self.compiled.is_valid()) return self.compiled;
  const auto compile = [&] {
    const nb::gil_scoped_release released;
    return internal::CompiledBytes(self->spec());
  };
  const std::string bytes = ValueOrRaise(compile());
  self.compiled = nb::bytes(bytes.data(), bytes.size());
  return self.compiled;
}

void SetState(PyTokenizer& self, nb::bytes state) {
  const std::string_view bytes(state.c_str(), state.size());
  const auto open = [&]() -> absl::StatusOr<std::shared_ptr<LoadedTokenizer>> {
    const nb::gil_scoped_release released;
    absl::StatusOr<Tokenizer> tokenizer = internal::TokenizerOfCompiledBytes(bytes);
    if (!tokenizer.ok()) return At("the pickled tokenizer", tokenizer.status());
    return std::make_shared<LoadedTokenizer>(*std::move(tokenizer));
  };
  new (&self) PyTokenizer{ValueOrRaise(open()), {}};
}

}  // namespace

void BindPickling(TokenizerClass& tokenizer) {
  tokenizer.def("__getstate__", &GetState)
      .def("__setstate__", &SetState, "state"_a)
      .def(
          "__copy__", [](nb::handle_t<PyTokenizer> self) { return nb::borrow(self); },
          nb::sig("def __copy__(self) -> Tokenizer"), "Itself: it never changes.")
      .def(
          "__deepcopy__", [](nb::handle_t<PyTokenizer> self, nb::handle) { return nb::borrow(self); },
          "memo"_a.none(), nb::sig("def __deepcopy__(self, memo: object) -> Tokenizer"),
          "Itself: it never changes.");
}

}  // namespace trellis::python
