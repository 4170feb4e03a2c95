#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <utility>

#include "python/src/bindings.h"
#include "python/src/options.h"
#include "trellis/spec.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::string Quoted(const std::string& text) { return nb::repr(nb::str(text.c_str(), text.size())).c_str(); }

void BindAddedToken(nb::module_& module) {
  nb::class_<AddedToken>(module, "AddedToken", "A string that is looked for in text before anything else is.")
      .def(
          "__init__",
          [](AddedToken* self, std::string content, bool single_word, bool lstrip, bool rstrip,
             std::optional<bool> normalized, bool special) {
            new (self) AddedToken{
                std::move(content), 0, single_word, lstrip, rstrip, normalized.value_or(!special), special};
          },
          "content"_a, nb::kw_only(), "single_word"_a = false, "lstrip"_a = false, "rstrip"_a = false,
          "normalized"_a = nb::none(), "special"_a = false,
          "normalized: looked for in normalized text; None: as tokenizers does it, when it is not special.")
      .def_ro("content", &AddedToken::content)
      .def_ro("id", &AddedToken::id, "Of a tokenizer's tokens; elsewhere 0.")
      .def_ro("single_word", &AddedToken::single_word)
      .def_ro("lstrip", &AddedToken::lstrip)
      .def_ro("rstrip", &AddedToken::rstrip)
      .def_ro("normalized", &AddedToken::normalized)
      .def_ro("special", &AddedToken::special)
      .def("__getstate__",
           [](const AddedToken& self) {
             return std::tuple(self.content, self.id, self.single_word, self.lstrip, self.rstrip,
                               self.normalized, self.special);
           })
      .def("__setstate__",
           [](AddedToken& self, std::tuple<std::string, TokenId, bool, bool, bool, bool, bool> state) {
             std::apply([&](auto&... fields) { new (&self) AddedToken{std::move(fields)...}; }, state);
           })
      .def("__str__", [](const AddedToken& self) { return self.content; })
      .def("__repr__", [](const AddedToken& self) {
        return "AddedToken(" + Quoted(self.content) + ", special=" + (self.special ? "True" : "False") + ")";
      });
}

void BindPadding(nb::module_& module) {
  nb::class_<Padding>(module, "Padding", "How rows are made equally long.")
      .def(
          "__init__",
          [](Padding* self, std::optional<size_t> length, size_t multiple_of, const std::string& side,
             TokenId id, uint8_t type_id, std::string token) {
            new (self) Padding{length, multiple_of, SideOf(side, "side"), id, type_id, std::move(token)};
          },
          nb::kw_only(), "length"_a = nb::none(), "multiple_of"_a = 0, "side"_a = "right", "id"_a = 0,
          "type_id"_a = 0, "token"_a = "",
          "length: of each row; None: that of the longest. multiple_of: rounded up to one; 0: as it is.")
      .def_ro("length", &Padding::length)
      .def_ro("multiple_of", &Padding::multiple_of)
      .def_prop_ro("side", [](const Padding& self) { return NameOf(self.side); })
      .def_ro("id", &Padding::id)
      .def_ro("type_id", &Padding::type_id)
      .def_ro("token", &Padding::token)
      .def("__getstate__",
           [](const Padding& self) {
             return std::tuple(self.length, self.multiple_of, std::string(NameOf(self.side)), self.id,
                               self.type_id, self.token);
           })
      .def("__setstate__",
           [](Padding& self,
              std::tuple<std::optional<size_t>, size_t, std::string, TokenId, uint8_t, std::string> state) {
             auto& [length, multiple_of, side, id, type_id, token] = state;
             new (&self) Padding{length, multiple_of, SideOf(side, "side"), id, type_id, std::move(token)};
           })
      .def("__repr__", [](const Padding& self) {
        return "Padding(length=" + (self.length ? std::to_string(*self.length) : "None") +
               ", multiple_of=" + std::to_string(self.multiple_of) + ", side='" + NameOf(self.side) +
               "', id=" + std::to_string(self.id) + ", type_id=" + std::to_string(self.type_id) +
               ", token=" + Quoted(self.token) + ")";
      });
}

}  // namespace

void BindValues(nb::module_& module) {
  BindAddedToken(module);
  BindPadding(module);
  nb::class_<Truncation>(module, "Truncation",
                         "What a file says of truncation; a call does it only when it is asked.")
      .def_ro("max_length", &Truncation::max_length)
      .def_ro("stride", &Truncation::stride)
      .def_prop_ro("strategy", [](const Truncation& self) { return NameOf(self.strategy); })
      .def_prop_ro("side", [](const Truncation& self) { return NameOf(self.side); })
      .def("__repr__", [](const Truncation& self) {
        return "Truncation(max_length=" + std::to_string(self.max_length) + ", strategy='" +
               NameOf(self.strategy) + "', side='" + NameOf(self.side) +
               "', stride=" + std::to_string(self.stride) + ")";
      });
}

}  // namespace trellis::python
