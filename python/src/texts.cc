#include "python/src/texts.h"

namespace trellis::python {

namespace nb = nanobind;

namespace {

std::string TypeName(nb::handle object) { return nb::type_name(object.type()).c_str(); }

}  // namespace

std::string_view TextOf(nb::handle text, const std::string& place) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(text.ptr())) {
    if (const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
      return {utf8, static_cast<size_t>(size)};
    }
    const nb::python_error error;
    if (!error.matches(PyExc_UnicodeEncodeError)) throw error;
    const std::string at = std::to_string(nb::cast<Py_ssize_t>(error.value().attr("start")));
    throw nb::value_error((place + ": a lone surrogate at character " + at +
                           ", expected Unicode text (as text.encode(errors=\"replace\") makes it)")
                              .c_str());
  }
  if (PyBytes_Check(text.ptr())) {
    char* bytes = nullptr;
    if (PyBytes_AsStringAndSize(text.ptr(), &bytes, &size) != 0) throw nb::python_error();
    return {bytes, static_cast<size_t>(size)};
  }
  throw nb::type_error((place + ": a " + TypeName(text) + ", expected str or bytes").c_str());
}

nb::str StrOf(std::string_view utf8) {
  PyObject* text = PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "replace");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

size_t CutText::bytes() const {
  size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size();
  return bytes;
}

bool IsListOrTuple(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

CutText CutTextOf(nb::handle words, const std::string& place) {
  if (!IsListOrTuple(words)) {
    throw nb::type_error((place + ": " + TypeName(words) + ", expected a list of words").c_str());
  }
  // A tuple of our own: a list may change while other threads run.
  PyObject* const own = PySequence_Tuple(words.ptr());
  if (own == nullptr) throw nb::python_error();
  CutText text{{}, nb::steal(own)};
  for (nb::handle word : text.holder) {
    text.words.push_back(TextOf(word, place + "[" + std::to_string(text.words.size()) + "]"));
  }
  return text;
}

Texts::Texts(nb::handle sequence, const char* name) {
  if (PyUnicode_Check(sequence.ptr()) || PyBytes_Check(sequence.ptr())) {
    throw nb::type_error(
        (std::string(name) + ": one " + TypeName(sequence) + ", expected a list of texts").c_str());
  }
  for (nb::handle element : nb::iter(sequence))
    Add(element, std::string(name) + "[" + std::to_string(inputs_.size()) + "]");
}

void Texts::Add(nb::handle element, const std::string& place) {
  nb::object text = nb::borrow(element), pair = nb::none();
  if (IsListOrTuple(element)) {
    if (nb::len(element) != 2) {
      throw nb::value_error(
          (place + ": " + std::to_string(nb::len(element)) + " elements, expected a pair of texts").c_str());
    }
    text = element[0];
    pair = element[1];
  }
  Input input{TextOf(text, place)};
  bytes_ += input.text.size();
  if (!pair.is_none()) {
    input.pair = TextOf(pair, place);
    bytes_ += input.pair->size();
    pairs_.resize(texts_.size(), nb::none());
  }
  if (!pair.is_none() || !pairs_.empty()) pairs_.push_back(std::move(pair));
  texts_.push_back(std::move(text));
  inputs_.push_back(input);
}

}  // namespace trellis::python
