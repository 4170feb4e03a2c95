#include "serve/gateway/json_body.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::gateway {
namespace {

constexpr std::string_view kBom = "\xef\xbb\xbf";
// Far more than any request of ours, and little enough for every recursion.
constexpr size_t kMaxDepth = 64;
constexpr size_t kQuotedBytes = 40;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string Place(std::string_view field, size_t index) { return absl::StrCat(View(field), "[", index, "]"); }

JsonBody::JsonBody(std::string_view body) {
  if (body.starts_with(kBom)) body.remove_prefix(kBom.size());
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    Fail(Fault::kInvalidJson, "", "the body is empty, expected a JSON object");
    return;
  }
  JsonValue root;
  simdjson::error_code failed = parser_.allocate(body.size(), kMaxDepth);
  if (!failed) failed = parser_.parse(body.data(), body.size()).get(root);
  if (failed) {
    Fail(Fault::kInvalidJson, "", absl::StrCat("the body is no JSON: ", simdjson::error_message(failed)));
    return;
  }
  simdjson::dom::object object;
  if (root.get(object)) {
    Fail(Fault::kWrongType, "", absl::StrCat("the body is ", Quoted(root), ", expected a JSON object"));
    return;
  }
  fields_ = whole_ = object;
}

void JsonBody::Fail(Fault fault, std::string_view field, std::string_view wrong) {
  if (error_.has_value()) return;
  std::string message =
      field.empty() ? std::string(wrong) : absl::StrCat("`", View(field), "`: ", View(wrong));
  error_ = ApiError{fault, std::move(message), std::string(field)};
}

std::optional<JsonValue> JsonBody::FindIn(JsonValue object, std::string_view key) {
  simdjson::dom::object fields;
  return object.get(fields) == simdjson::SUCCESS ? LastOf(fields, key) : std::nullopt;
}

std::optional<JsonValue> JsonBody::LastOf(simdjson::dom::object fields, std::string_view key) const {
  if (error_.has_value()) return std::nullopt;
  std::optional<JsonValue> found;
  for (const auto [name, value] : fields) {
    if (name == key) found = value;
  }
  return found.has_value() && !found->is_null() ? found : std::nullopt;
}

void JsonBody::Within(std::string_view key) {
  fields_ = whole_;
  simdjson::dom::object object;
  const std::optional<JsonValue> value = Find(key);
  fields_ = std::nullopt;
  if (value.has_value() && value->get(object) == simdjson::SUCCESS) fields_ = object;
}

std::optional<JsonValue> JsonBody::Find(std::string_view field) {
  return fields_.has_value() ? LastOf(*fields_, field) : std::nullopt;
}

std::optional<JsonValue> JsonBody::Required(std::string_view field, std::string_view expected) {
  const std::optional<JsonValue> value = Find(field);
  if (!value.has_value())
    Fail(Fault::kInvalidValue, field, absl::StrCat("missing, expected ", View(expected)));
  return value;
}

std::optional<std::string_view> JsonBody::AsString(JsonValue value, std::string_view place) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return text;
  Fail(Fault::kWrongType, place, absl::StrCat(Quoted(value), ", expected a string"));
  return std::nullopt;
}

std::optional<simdjson::dom::array> JsonBody::AsArray(JsonValue value, std::string_view place,
                                                      std::string_view expected) {
  simdjson::dom::array array;
  if (value.get(array) == simdjson::SUCCESS) return array;
  Fail(Fault::kWrongType, place, absl::StrCat(Quoted(value), ", expected ", View(expected)));
  return std::nullopt;
}

std::optional<std::string_view> JsonBody::String(std::string_view field) {
  const std::optional<JsonValue> value = Find(field);
  return value.has_value() ? AsString(*value, field) : std::nullopt;
}

std::optional<bool> JsonBody::Bool(std::string_view field) {
  const std::optional<JsonValue> value = Find(field);
  if (!value.has_value()) return std::nullopt;
  bool is = false;
  if (value->get(is) == simdjson::SUCCESS) return is;
  Fail(Fault::kWrongType, field, absl::StrCat(Quoted(*value), ", expected true or false"));
  return std::nullopt;
}

std::optional<int64_t> JsonBody::Integer(std::string_view field, int64_t least, int64_t most) {
  const std::optional<JsonValue> value = Find(field);
  if (!value.has_value()) return std::nullopt;
  int64_t number = 0;
  const std::string expected = absl::StrCat(", expected ", least, " to ", most);
  if (value->get(number) == simdjson::SUCCESS) {
    if (number >= least && number <= most) return number;
    Fail(Fault::kOutOfRange, field, absl::StrCat(number, expected));
  } else if (value->is<uint64_t>()) {
    Fail(Fault::kOutOfRange, field, absl::StrCat(value->get_uint64().value(), expected));
  } else {
    Fail(Fault::kWrongType, field, absl::StrCat(Quoted(*value), expected));
  }
  return std::nullopt;
}

std::string JsonBody::Quoted(JsonValue value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = simdjson::to_string(value);
  if (text.size() > kQuotedBytes) {
    size_t end = kQuotedBytes;  // not in the middle of a character
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  return text;
}

}  // namespace trellis::gateway
