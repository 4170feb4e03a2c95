#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "python/src/bindings.h"
#include "python/src/encoded_row.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename Column>
nb::list Numbers(const Column& column) {
  nb::list out;
  for (const auto value : column) out.append(nb::int_(static_cast<long>(value)));
  return out;
}

nb::list OffsetsOf(const EncodedRow& self) {
  nb::list out;
  for (const Offset& offset : self.row().offsets) out.append(nb::make_tuple(offset.begin, offset.end));
  return out;
}

// Of each token what `find(i)` says, or None.
template <typename Find>
nb::list EachToken(EncodedRow& self, const Find& find) {
  nb::list out;
  for (size_t i = 0; i < self.size(); ++i) {
    const auto found = find(i);
    if (found) {
      out.append(*found);
    } else {
      out.append(nb::none());
    }
  }
  return out;
}

nb::list WordIds(EncodedRow& self) {
  return EachToken(self, [&](size_t i) { return self.WordOf(i); });
}

// A token's number as Python counts.
size_t TokenAt(const EncodedRow& self, int64_t token) {
  const auto size = static_cast<int64_t>(self.size());
  if (token < 0 || token >= size) {
    throw nb::index_error(("token " + std::to_string(token) + " of " + std::to_string(size)).c_str());
  }
  return static_cast<size_t>(token);
}

// The first token of the text `sequence` for which `holds`.
template <typename Holds>
std::optional<size_t> FindToken(EncodedRow& self, size_t sequence, const Holds& holds) {
  for (const TextPart& part : self.Parts()) {
    if (part.sequence != sequence) continue;
    for (size_t i = part.begin; i < part.end; ++i) {
      if (holds(i)) return i;
    }
  }
  return std::nullopt;
}

std::optional<size_t> CharToToken(EncodedRow& self, size_t position, size_t sequence) {
  return FindToken(self, sequence, [&](size_t i) {
    const Offset offset = self.row().offsets[i];
    return position >= offset.begin && position < offset.end;
  });
}

std::optional<std::pair<size_t, size_t>> WordToTokens(EncodedRow& self, uint32_t word, size_t sequence) {
  std::optional<std::pair<size_t, size_t>> found;
  FindToken(self, sequence, [&](size_t i) {
    if (self.WordOf(i) == word) found = {found ? found->first : i, i + 1};
    return false;
  });
  return found;
}

nb::object TokenToChars(EncodedRow& self, int64_t token) {
  const size_t i = TokenAt(self, token);
  if (!self.SequenceOf(i)) return nb::none();
  const Offset offset = self.row().offsets[i];
  return nb::make_tuple(offset.begin, offset.end);
}

nb::object WordToChars(EncodedRow& self, uint32_t word, size_t sequence) {
  const auto tokens = WordToTokens(self, word, sequence);
  if (!tokens) return nb::none();
  return nb::make_tuple(self.row().offsets[tokens->first].begin, self.row().offsets[tokens->second - 1].end);
}

std::optional<uint32_t> CharToWord(EncodedRow& self, size_t position, size_t sequence) {
  const std::optional<size_t> token = CharToToken(self, position, sequence);
  return token ? self.WordOf(*token) : std::nullopt;
}

nb::object WordToTokenRange(EncodedRow& self, uint32_t word, size_t sequence) {
  const auto tokens = WordToTokens(self, word, sequence);
  if (!tokens) return nb::none();
  return nb::make_tuple(tokens->first, tokens->second);
}

size_t SequenceCount(EncodedRow& self) {
  size_t most = 0;
  for (const TextPart& part : self.Parts()) most = std::max<size_t>(most, part.sequence);
  return most + 1;
}

}  // namespace

#define TRELLIS_PYTHON_LIST(type) nb::sig("def _(self, /) -> list[" type "]")

void BindEncoding(nb::module_& module) {
  nb::class_<EncodedRow>(module, "Encoding", "A row of tokens. Lists are made when they are asked for.")
      .def("__len__", &EncodedRow::size)
      .def_prop_ro(
          "ids", [](const EncodedRow& self) { return Numbers(self.row().ids); },
          nb::for_getter(TRELLIS_PYTHON_LIST("int")))
      .def_prop_ro(
          "type_ids", [](const EncodedRow& self) { return Numbers(self.row().type_ids); },
          nb::for_getter(TRELLIS_PYTHON_LIST("int")))
      .def_prop_ro(
          "special_tokens_mask",
          [](const EncodedRow& self) { return Numbers(self.row().special_tokens_mask); },
          nb::for_getter(TRELLIS_PYTHON_LIST("int")), "1: the template's, or a pad.")
      .def_prop_ro(
          "attention_mask", [](const EncodedRow& self) { return Numbers(self.attention_mask()); },
          nb::for_getter(TRELLIS_PYTHON_LIST("int")), "0: a pad.")
      .def_prop_ro("offsets", &OffsetsOf, nb::for_getter(TRELLIS_PYTHON_LIST("tuple[int, int]")),
                   "Half-open ranges of each token's own text; (0, 0) of template tokens.")
      .def_prop_ro(
          "tokens", &EncodedRow::Tokens, nb::for_getter(TRELLIS_PYTHON_LIST("str")),
          "The tokens' strings; of unknown and added tokens what they stand for in the normalized text.")
      .def_prop_ro("word_ids", &WordIds, nb::for_getter(TRELLIS_PYTHON_LIST("int | None")),
                   "The pre-token that each token is a part of; None of template tokens and pads.")
      .def_prop_ro("words", &WordIds, nb::for_getter(TRELLIS_PYTHON_LIST("int | None")),
                   "Another name for word_ids.")
      .def_prop_ro(
          "sequence_ids",
          [](EncodedRow& self) { return EachToken(self, [&](size_t i) { return self.SequenceOf(i); }); },
          nb::for_getter(TRELLIS_PYTHON_LIST("int | None")),
          "0: of the text, 1: of its pair; None of template tokens and pads.")
      .def_prop_ro("n_sequences", &SequenceCount)
      .def_prop_ro(
          "overflowing", [](const EncodedRow& self) { return self.overflow(); }, "The further windows.")
      .def_prop_ro(
          "num_truncated", [](const EncodedRow& self) { return self.row().num_truncated; },
          "Tokens that were cut off, where there are no further windows.")
      .def("char_to_token", &CharToToken, "char_pos"_a, "sequence_index"_a = 0,
           "The first token that covers this character of the text.")
      .def("char_to_word", &CharToWord, "char_pos"_a, "sequence_index"_a = 0)
      .def("token_to_chars", &TokenToChars, "token_index"_a,
           nb::sig("def token_to_chars(self, token_index: int) -> tuple[int, int] | None"))
      .def(
          "token_to_sequence",
          [](EncodedRow& self, int64_t token) { return self.SequenceOf(TokenAt(self, token)); },
          "token_index"_a)
      .def(
          "token_to_word", [](EncodedRow& self, int64_t token) { return self.WordOf(TokenAt(self, token)); },
          "token_index"_a)
      .def("word_to_chars", &WordToChars, "word_index"_a, "sequence_index"_a = 0,
           nb::sig(
               "def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None"))
      .def(
          "word_to_tokens", &WordToTokenRange, "word_index"_a, "sequence_index"_a = 0,
          nb::sig(
              "def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None"))
      .def("__repr__", [](const EncodedRow& self) {
        return "Encoding(num_tokens=" + std::to_string(self.size()) +
               ", overflowing=" + std::to_string(self.overflow().size()) + ")";
      });
}

}  // namespace trellis::python
