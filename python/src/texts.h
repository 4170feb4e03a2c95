// Texts that Python hands in, as views of the objects' own bytes.
#ifndef TRELLIS_PYTHON_TEXTS_H_
#define TRELLIS_PYTHON_TEXTS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/tokenizer.h"

namespace trellis::python {

// A str's UTF-8, which it keeps, or bytes as they are. `place` is how errors name the argument: TypeError,
// and ValueError for a str with lone surrogates. The view lives as long as the object.
std::string_view TextOf(nanobind::handle text, const std::string& place);

// A str of ours; what is no UTF-8 becomes U+FFFD.
nanobind::str StrOf(std::string_view utf8);

// A text that is cut into words already, and what holds their bytes.
struct CutText {
  std::vector<std::string_view> words;
  nanobind::object holder;

  size_t bytes() const;
};

// A list or tuple of words, as TextOf.
bool IsListOrTuple(nanobind::handle object);
CutText CutTextOf(nanobind::handle words, const std::string& place);

// A batch: each element a text, or a tuple or list of two. Holds all of the objects, so that the views stay
// while other threads run, whatever becomes of the list.
class Texts {
 public:
  Texts(nanobind::handle sequence, const char* name);

  const std::vector<Input>& inputs() const { return inputs_; }
  size_t bytes() const { return bytes_; }
  // The objects of element i; `pair` is None where there is one text.
  nanobind::object text(size_t i) const { return texts_[i]; }
  nanobind::object pair(size_t i) const { return pairs_.empty() ? nanobind::none() : pairs_[i]; }

 private:
  void Add(nanobind::handle element, const std::string& place);

  std::vector<nanobind::object> texts_;
  std::vector<nanobind::object> pairs_;  // empty while there is no pair
  std::vector<Input> inputs_;
  size_t bytes_ = 0;
};

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_TEXTS_H_
