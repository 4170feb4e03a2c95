#include "tools/cli/jsonl_input.h"

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/line_reader.h"

namespace trellis::cli {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

static_assert(LineChunk::kPadding >= simdjson::SIMDJSON_PADDING);

constexpr std::array<std::string_view, 7> kFields = {
    "text", "text_base64", "pair", "add_special_tokens", "max_length", "truncation", "truncation_side"};

absl::Status Wrong(std::string_view field, std::string_view what) {
  std::string message = "field ";
  AppendJsonString(field, message);
  message += ": ";
  message += what;
  return absl::InvalidArgumentError(message);
}

std::string_view TypeName(const element& value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return "a number";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

absl::Status WrongType(std::string_view field, std::string_view expected, const element& value) {
  std::string what = "expected ";
  what += expected;
  what += ", found ";
  what += TypeName(value);
  return Wrong(field, what);
}

absl::Status NotOneOf(std::string_view field, std::string_view names, std::string_view value) {
  std::string what = "expected ";
  what += names;
  what += ", found ";
  AppendJsonString(value, what);
  return Wrong(field, what);
}

}  // namespace

absl::Status JsonlInput::Parse(std::string_view line, TextRequest& request) {
  element root;
  const simdjson::error_code error =
      parser_.parse(line.data(), line.size(), /*realloc_if_needed=*/false).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(std::string("expected a JSON string or object: ") +
                                      simdjson::error_message(error));
  }
  request = {};
  request.options = defaults_.Options();
  if (root.is_string()) {
    request.input.text = root.get_string().value_unsafe();
    return absl::OkStatus();
  }
  if (root.is_object()) return ParseObject(root.get_object().value_unsafe(), request);
  return absl::InvalidArgumentError("expected a JSON string or object, found " + std::string(TypeName(root)));
}

absl::Status JsonlInput::ParseObject(const simdjson::dom::object& object, TextRequest& request) {
  EncodeFlags flags = defaults_;
  unsigned seen = 0;
  for (const auto [key, value] : object) {
    size_t field = 0;
    while (field < kFields.size() && kFields[field] != key) ++field;
    if (field == kFields.size()) return Wrong(key, "unknown field");
    if ((seen >> field & 1) != 0) return Wrong(key, "given twice");
    seen |= 1u << field;
    std::string_view string;
    const bool is_string = value.get(string) == simdjson::SUCCESS;
    if (key == "add_special_tokens") {
      if (value.get(flags.add_special_tokens) != simdjson::SUCCESS) {
        return WrongType(key, "true or false", value);
      }
    } else if (key == "max_length") {
      uint64_t length = 0;
      if (value.get(length) != simdjson::SUCCESS) return WrongType(key, "a whole number, 0 or more", value);
      flags.max_length = length;
    } else if (key == "pair" && value.is_null()) {
      // What programs write where there is none.
    } else if (!is_string) {
      return WrongType(key, "a string", value);
    } else if (key == "text") {
      request.input.text = string;
    } else if (key == "text_base64") {
      if (!absl::Base64Unescape(absl::string_view(string.data(), string.size()), &from_base64_)) {
        return Wrong(key, "expected base64");
      }
      request.input.text = from_base64_;
    } else if (key == "pair") {
      request.input.pair = string;
    } else if (key == "truncation") {
      flags.truncate = TruncateFromName(string);
      if (!flags.truncate.has_value()) return NotOneOf(key, kTruncateNames, string);
    } else {
      const std::optional<Side> side = SideFromName(string);
      if (!side.has_value()) return NotOneOf(key, kSideNames, string);
      flags.truncation_side = *side;
    }
  }
  const auto has = [seen](std::string_view name) {
    for (size_t i = 0; i < kFields.size(); ++i) {
      if (kFields[i] == name) return (seen >> i & 1) != 0;
    }
    return false;
  };
  if (has("text") && has("text_base64"))
    return Wrong("text_base64", "expected only one of text and text_base64");
  if (!has("text") && !has("text_base64")) return Wrong("text", "expected a string, found nothing");
  if (has("truncation") && !flags.max_length.has_value()) {
    return Wrong("truncation", "expected a max_length beside it");
  }
  request.options = flags.Options();
  return absl::OkStatus();
}

}  // namespace trellis::cli
