// The arguments that every way to encode has, and what they mean to the library.
#ifndef TRELLIS_PYTHON_OPTIONS_H_
#define TRELLIS_PYTHON_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "trellis/tokenizer.h"

namespace trellis::python {

// Raises ValueError where a word is not among those that it can be.
EncodeOptions MakeOptions(bool add_special_tokens, std::optional<size_t> max_length,
                          const std::string& truncation, const std::string& truncation_side, size_t stride,
                          bool match_special_tokens, bool encode_special_tokens, bool cut_nothing);
Side SideOf(const std::string& name, const char* argument);
const char* NameOf(Side side);
const char* NameOf(Truncate strategy);

// `call` with the options that the last eight arguments make.
template <typename Self, typename... Front, typename Call>
auto WithOptions(Call call) {
  return [call](Self self, Front... front, bool add_special_tokens, std::optional<size_t> max_length,
                const std::string& truncation, const std::string& truncation_side, size_t stride,
                bool match_special_tokens, bool encode_special_tokens, bool cut_nothing) {
    return call(self, std::forward<Front>(front)...,
                MakeOptions(add_special_tokens, max_length, truncation, truncation_side, stride,
                            match_special_tokens, encode_special_tokens, cut_nothing));
  };
}

}  // namespace trellis::python

// Their names and defaults, for def.
#define TRELLIS_PYTHON_OPTIONS                                                                  \
  "add_special_tokens"_a = true, "max_length"_a = nb::none(), "truncation"_a = "longest_first", \
  "truncation_side"_a = "right", "stride"_a = 0, "match_special_tokens"_a = true,               \
  "encode_special_tokens"_a = false, "cut_nothing"_a = false

#endif  // TRELLIS_PYTHON_OPTIONS_H_
