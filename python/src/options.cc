#include "python/src/options.h"

#include <nanobind/nanobind.h>

namespace trellis::python {

namespace nb = nanobind;

namespace {

Truncate TruncateOf(const std::string& name) {
  for (const Truncate strategy : {Truncate::kLongestFirst, Truncate::kOnlyFirst, Truncate::kOnlySecond}) {
    if (name == NameOf(strategy)) return strategy;
  }
  throw nb::value_error(
      ("truncation: \"" + name + "\", expected longest_first, only_first or only_second").c_str());
}

}  // namespace

const char* NameOf(Side side) { return side == Side::kLeft ? "left" : "right"; }

const char* NameOf(Truncate strategy) {
  switch (strategy) {
    case Truncate::kNever:
      return "do_not_truncate";
    case Truncate::kLongestFirst:
      return "longest_first";
    case Truncate::kOnlyFirst:
      return "only_first";
    case Truncate::kOnlySecond:
      return "only_second";
  }
  return "";
}

Side SideOf(const std::string& name, const char* argument) {
  if (name == "left") return Side::kLeft;
  if (name == "right") return Side::kRight;
  throw nb::value_error((std::string(argument) + ": \"" + name + "\", expected left or right").c_str());
}

EncodeOptions MakeOptions(bool add_special_tokens, std::optional<size_t> max_length,
                          const std::string& truncation, const std::string& truncation_side, size_t stride,
                          bool match_special_tokens, bool encode_special_tokens, bool cut_nothing) {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  options.match_special_tokens = match_special_tokens;
  options.encode_special_tokens = encode_special_tokens;
  const Truncate strategy = TruncateOf(truncation);
  options.truncation_side = SideOf(truncation_side, "truncation_side");
  if (!max_length) {
    if (stride > 0) throw nb::value_error("stride: expected a max_length beside it");
    return options;
  }
  options.truncate = strategy;
  options.max_length = *max_length;
  options.stride = stride;
  if (cut_nothing) options.no_room = EncodeOptions::NoRoom::kCutNothing;
  return options;
}

}  // namespace trellis::python
