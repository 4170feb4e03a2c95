// trellis._native: the tokenizer. Docstrings are the reference; the stub is made of them.
#include <nanobind/nanobind.h>

#include "python/src/bindings.h"
#include "python/src/raise.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  using namespace trellis::python;
  module.attr("__version__") = TRELLIS_VERSION;
  nb::exception<UnsupportedError>(module, "UnsupportedError", PyExc_ValueError).attr("__doc__") =
      "A file asks for what the library does not have; the message names the field and the value.";
  BindValues(module);
  BindEncoding(module);
  TokenizerClass tokenizer(
      module, "Tokenizer",
      "Text to token ids and back. Never changes after it is made; any number of threads may use it.");
  BindLoading(tokenizer);
  BindEncode(tokenizer);
  BindArrays(tokenizer);
  BindArrow(module, tokenizer);
  BindDecode(module, tokenizer);
}
