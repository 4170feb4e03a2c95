#include "src/format/json_reader.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/format/serde_number.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool HasEscape(std::string_view body) { return memchr(body.data(), '\\', body.size()) != nullptr; }

std::optional<uint32_t> FourHexDigits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

// Takes a \u escape, or two for a surrogate pair, off the front of `rest`,
// which starts after the first `\u`.
std::optional<uint32_t> TakeCodePoint(std::string_view& rest) {
  const std::optional<uint32_t> first = FourHexDigits(rest);
  if (!first) return std::nullopt;
  rest.remove_prefix(4);
  if (*first < 0xD800 || *first > 0xDFFF) return first;
  if (*first > 0xDBFF || rest.substr(0, 2) != "\\u") return std::nullopt;
  const std::optional<uint32_t> second = FourHexDigits(rest.substr(2));
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return std::nullopt;
  rest.remove_prefix(6);
  return 0x10000 + ((*first - 0xD800) << 10 | (*second - 0xDC00));
}

// The text between the quotes with its escapes replaced; false for an unknown
// escape or half a surrogate pair.
bool Unescape(std::string_view body, std::string& out) {
  out.clear();
  while (!body.empty()) {
    const size_t plain = std::min(body.find('\\'), body.size());
    out.append(body.substr(0, plain));
    body.remove_prefix(plain);
    if (body.empty()) break;
    if (body.size() < 2) return false;
    const char escape = body[1];
    body.remove_prefix(2);
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
    if (const size_t at = kNames.find(escape); at != std::string_view::npos) {
      out.push_back(kBytes[at]);
      continue;
    }
    if (escape != 'u') return false;
    const std::optional<uint32_t> code_point = TakeCodePoint(body);
    if (!code_point) return false;
    char bytes[kMaxUtf8Bytes];
    out.append(bytes, EncodeUtf8(*code_point, bytes));
  }
  return true;
}

// What stands in a message for a value.
std::string Shown(JsonValue& value) {
  const std::string_view token = JsonToken(value);
  if (token.empty()) return "nothing";
  if (token[0] == '{') return "an object";
  if (token[0] == '[') return "an array";
  if (token[0] == '"') return Quoted(token.substr(1, token.size() - std::min<size_t>(token.size(), 2)));
  std::string shown = Quoted(token);
  return shown.substr(1, shown.size() - 2);
}

absl::Status Open(JsonValue& value, const JsonPlace& place, char bracket, std::string_view what) {
  const std::string_view token = JsonToken(value);
  if (token.empty() || token[0] != bracket) return place.Expected(value, what);
  if (place.nesting() > kMaxJsonNesting) {
    return place.Error("nested too deep, expected at most " + std::to_string(kMaxJsonNesting) + " levels");
  }
  return absl::OkStatus();
}

}  // namespace

std::string JsonPlace::ToString() const {
  if (parent_ == nullptr) return "";
  std::string text = parent_->ToString();
  if (index_ != kNoIndex) {
    absl::StrAppend(&text, "[", index_, "]");
  } else {
    if (!text.empty()) text += ".";
    text += key_;
  }
  return text;
}

absl::Status JsonPlace::Error(std::string_view problem) const {
  std::string text = ToString();
  if (text.empty()) text = "tokenizer.json";
  text += ": ";
  text += problem;
  return absl::InvalidArgumentError(text);
}

absl::Status JsonPlace::Expected(JsonValue& value, std::string_view what) const {
  return Error(Shown(value) + ", expected " + std::string(what));
}

absl::Status JsonPlace::NotSupported(std::string_view value, std::string_view what) const {
  return absl::UnimplementedError(ToString() + ": " + std::string(value) +
                                  " is not supported yet, expected " + std::string(what));
}

std::string Quoted(std::string_view text, size_t longest) {
  std::string quoted = "\"";
  size_t end = text.size();
  if (end > longest) {
    end = longest;
    while (end > 0 && IsContinuation(static_cast<uint8_t>(text[end]))) --end;
  }
  for (const char c : text.substr(0, end)) {
    constexpr char kHex[] = "0123456789abcdef";
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      quoted += c;
    } else {  // a message is one line
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    }
  }
  if (end < text.size()) quoted += "...";
  quoted += '"';
  return quoted;
}

std::string_view JsonToken(JsonValue& value) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && IsBlank(token.back())) token.remove_suffix(1);
  return token;
}

bool IsNull(JsonValue& value) { return JsonToken(value) == "null"; }

absl::Status ReadString(JsonValue& value, const JsonPlace& place, std::string& out) {
  const std::string_view token = JsonToken(value);
  if (token.size() < 2 || token.front() != '"' || token.back() != '"')
    return place.Expected(value, "a string");
  const std::string_view body = token.substr(1, token.size() - 2);
  if (!HasEscape(body)) {
    out.assign(body);
  } else if (!Unescape(body, out)) {
    return place.Expected(value, "a string with whole escapes");
  }
  // Steps over it: a string that On-Demand skips by itself may be taken for a key.
  simdjson::ondemand::raw_json_string raw;
  if (const auto error = value.get_raw_json_string().get(raw)) return BrokenJson(place, error);
  return absl::OkStatus();
}

absl::Status ReadBool(JsonValue& value, const JsonPlace& place, bool& out) {
  const std::string_view token = JsonToken(value);
  if (token != "true" && token != "false") return place.Expected(value, "true or false");
  out = token == "true";
  return absl::OkStatus();
}

absl::Status ReadDouble(JsonValue& value, const JsonPlace& place, double& out) {
  const SerdeNumber number = ParseSerdeNumber(JsonToken(value));
  if (!number.ok()) {
    return place.Expected(value, number.kind == SerdeNumber::Kind::kOutOfRange
                                     ? "a number in the range of double"
                                     : "a number");
  }
  out = number.value;
  return absl::OkStatus();
}

absl::Status ReadUnsigned(JsonValue& value, const JsonPlace& place, uint64_t max, std::string_view what,
                          uint64_t& out) {
  const SerdeNumber number = ParseSerdeNumber(JsonToken(value));
  if (number.kind != SerdeNumber::Kind::kUnsigned || number.integer > max) return place.Expected(value, what);
  out = number.integer;
  return absl::OkStatus();
}

absl::Status CheckAny(JsonValue& value, const JsonPlace& place) {
  const std::string_view token = JsonToken(value);
  const char first = token.empty() ? '\0' : token[0];
  if (first == '{') {
    return ForEachField(value, place, [](std::string_view, JsonValue& field, const JsonPlace& at) {
      return CheckAny(field, at);
    });
  }
  if (first == '[') {
    return ForEachElement(value, place,
                          [](JsonValue& element, const JsonPlace& at) { return CheckAny(element, at); });
  }
  if (first == '"') {
    std::string text;
    return ReadString(value, place, text);
  }
  if (token == "null" || token == "true" || token == "false") return absl::OkStatus();
  double number = 0.0;
  return ReadDouble(value, place, number);
}

absl::Status BrokenJson(const JsonPlace& place, simdjson::error_code error) {
  return place.Error(std::string("broken JSON here or inside (") + simdjson::error_message(error) +
                     "), expected a whole value");
}

absl::Status ReadKey(simdjson::ondemand::field& field, const JsonPlace& place, std::string& storage,
                     std::string_view& key) {
  const char* const begin = field.key().raw();
  const char* end = begin;
  bool escapes = false;
  while (*end != '"') {  // the first pass of simdjson has seen the closing quote
    escapes = escapes || *end == '\\';
    end += *end == '\\' ? 2 : 1;
  }
  key = std::string_view(begin, static_cast<size_t>(end - begin));
  if (!escapes) return absl::OkStatus();
  if (!Unescape(key, storage)) return place.Error("key " + Quoted(key) + ", expected whole escapes");
  key = storage;
  return absl::OkStatus();
}

absl::Status OpenObject(JsonValue& value, const JsonPlace& place, JsonObject& object) {
  TRELLIS_TRY(Open(value, place, '{', "an object"));
  if (const auto error = value.get_object().get(object)) return BrokenJson(place, error);
  return absl::OkStatus();
}

absl::Status OpenArray(JsonValue& value, const JsonPlace& place, simdjson::ondemand::array& array) {
  TRELLIS_TRY(Open(value, place, '[', "an array"));
  if (const auto error = value.get_array().get(array)) return BrokenJson(place, error);
  return absl::OkStatus();
}

}  // namespace trellis::internal
