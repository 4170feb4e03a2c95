// The truncation and padding sections.
#include <initializer_list>
#include <string>
#include <utility>

#include "src/format/tokenizer_json_parts.h"

namespace trellis::internal {
namespace {

constexpr uint64_t kMaxUsize = UINT64_MAX;

// One of the names that tokenizers has for a value.
template <typename T>
absl::Status ReadName(JsonValue& value, const JsonPlace& place,
                      std::initializer_list<std::pair<std::string_view, T>> choices, T& out) {
  std::string text;
  const bool is_string = JsonToken(value).substr(0, 1) == "\"";
  if (is_string) TRELLIS_TRY(ReadString(value, place, text));
  std::string expected;
  for (const auto& [name, choice] : choices) {
    if (is_string && text == name) {
      out = choice;
      return absl::OkStatus();
    }
    expected += expected.empty() ? "" : " or ";
    expected += Quoted(name);
  }
  return place.Expected(value, expected);
}

absl::Status ReadSide(JsonValue& value, const JsonPlace& place, Side& out) {
  return ReadName<Side>(value, place, {{"Left", Side::kLeft}, {"Right", Side::kRight}}, out);
}

absl::Status ReadLength(JsonValue& value, const JsonPlace& place, std::string_view what, size_t& out,
                        uint64_t most = kMaxUsize) {
  uint64_t length = 0;
  TRELLIS_TRY(ReadUnsigned(value, place, most, what, length));
  out = length;
  return absl::OkStatus();
}

// Rows can be made that long; with more the reference loads the file and panics when it pads.
constexpr uint64_t kMostPadded = INT32_MAX;

// "BatchLongest" or {"Fixed": length}.
absl::Status ReadPaddingStrategy(JsonValue& value, const JsonPlace& place, std::optional<size_t>& out) {
  out.reset();
  const std::string_view token = JsonToken(value);
  if (token.empty() || token[0] != '{') {
    return ReadName<std::optional<size_t>>(value, place, {{"BatchLongest", std::nullopt}}, out);
  }
  return ReadStruct(value, place, {"Fixed"}, {}, [&](std::string_view, JsonValue& field, const JsonPlace& at) {
    return ReadLength(field, at, "a length of at most 2147483647", out.emplace(), kMostPadded);
  });
}

}  // namespace

absl::Status ReadTruncation(JsonValue& value, const JsonPlace& place, Truncation& out) {
  out = Truncation{};
  TRELLIS_TRY(ReadStruct(value, place, {"max_length", "strategy", "stride"}, {"direction"},
                         [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
                           if (key == "max_length") return ReadLength(field, at, "a length", out.max_length);
                           if (key == "stride") return ReadLength(field, at, "a length", out.stride);
                           if (key == "direction") return ReadSide(field, at, out.side);
                           return ReadName<Truncate>(field, at,
                                                     {{"LongestFirst", Truncate::kLongestFirst},
                                                      {"OnlyFirst", Truncate::kOnlyFirst},
                                                      {"OnlySecond", Truncate::kOnlySecond}},
                                                     out.strategy);
                         }));
  // tokenizers loads such a file and panics at the first text that is too long.
  if (out.max_length > 0 && out.stride >= out.max_length) {
    return place.Field("stride").Error(std::to_string(out.stride) + ", expected less than max_length (" +
                                       std::to_string(out.max_length) + ")");
  }
  return absl::OkStatus();
}

absl::Status ReadPadding(JsonValue& value, const JsonPlace& place, Padding& out) {
  out = Padding{};
  return ReadStruct(value, place, {"strategy", "direction", "pad_id", "pad_type_id", "pad_token"},
                    {"pad_to_multiple_of"}, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
                      uint64_t number = 0;
                      if (key == "strategy") return ReadPaddingStrategy(field, at, out.length);
                      if (key == "direction") return ReadSide(field, at, out.side);
                      if (key == "pad_token") return ReadString(field, at, out.token);
                      if (key == "pad_type_id") return ReadTypeId(field, at, out.type_id);
                      if (key == "pad_id") {
                        TRELLIS_TRY(ReadUnsigned(field, at, INT32_MAX, "a token id", number));
                        out.id = static_cast<TokenId>(number);
                        return absl::OkStatus();
                      }
                      out.multiple_of = 0;
                      return IsNull(field) ? absl::OkStatus()
                                           : ReadLength(field, at, "a length of at most 2147483647, or null",
                                                        out.multiple_of, kMostPadded);
                    });
}

}  // namespace trellis::internal
