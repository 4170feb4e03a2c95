// trellis._native: the tokenizer. Docstrings are the reference; the stub is made of them.
#include <nanobind/nanobind.h>

#include "python/src/bindings.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  using namespace trellis::python;
  module.attr("__version__") = TRELLIS_VERSION;
  module.attr("UnsupportedError") = nb::steal(PyErr_NewExceptionWithDoc(
      "trellis._native.UnsupportedError",
      "A file asks for what the library does not have; the message names the field and the value.",
      PyExc_ValueError, nullptr));
  BindValues(module);
  BindEncoding(module);
  TokenizerClass tokenizer(
      module, "Tokenizer",
      "Text to token ids and back. Never changes after it is made; any number of threads may use it.");
  BindLoading(tokenizer);
  BindPickling(tokenizer);
  BindEncode(tokenizer);
  BindArrays(tokenizer);
  BindArrow(module, tokenizer);
  BindDecode(module, tokenizer);
  BindSampling(module, tokenizer);
}
