// The fields of a request's body, with the place where they stand. The first thing that is wrong is kept and
// names field, value and what was expected; what is asked for afterwards is empty. So a route reads all it
// needs and looks at error() once.
//
// Fields that no one asks for are ignored, null counts as absent, and of a key that comes twice the last one
// counts.
#ifndef TRELLIS_SERVE_GATEWAY_JSON_BODY_H_
#define TRELLIS_SERVE_GATEWAY_JSON_BODY_H_

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/gateway/api_error.h"

namespace trellis::gateway {

using JsonValue = simdjson::dom::element;

// Owns what it has read: strings and values of it are good as long as it lives.
class JsonBody {
 public:
  // Whatever the bytes: an error is kept like any other. `body` is needed during the call only.
  explicit JsonBody(std::string_view body);
  JsonBody(const JsonBody&) = delete;

  const std::optional<ApiError>& error() const { return error_; }
  // Keeps the first.
  void Fail(Fault fault, std::string_view field, std::string_view wrong);

  // From now on fields are those of the object under `key` of the whole body; where that is absent or no
  // object, there are none.
  void Within(std::string_view key);

  // Empty: absent, null, or something is wrong already.
  std::optional<JsonValue> Find(std::string_view field);
  std::optional<JsonValue> FindIn(JsonValue object, std::string_view key);
  bool Has(std::string_view field) { return Find(field).has_value(); }
  // Absent is wrong.
  std::optional<JsonValue> Required(std::string_view field, std::string_view expected);

  std::optional<std::string_view> String(std::string_view field);
  std::optional<bool> Bool(std::string_view field);
  std::optional<int64_t> Integer(std::string_view field, int64_t least, int64_t most);

  // The value as what is expected, or an error at `place`.
  std::optional<std::string_view> AsString(JsonValue value, std::string_view place);
  std::optional<simdjson::dom::array> AsArray(JsonValue value, std::string_view place,
                                              std::string_view expected);
  // The value as it would be quoted in a message: short, whatever it is.
  static std::string Quoted(JsonValue value);

 private:
  std::optional<JsonValue> LastOf(simdjson::dom::object fields, std::string_view key) const;

  simdjson::dom::parser parser_;
  std::optional<simdjson::dom::object> whole_;
  std::optional<simdjson::dom::object> fields_;  // that are read now
  std::optional<ApiError> error_;
};

// "inputs[3]"
std::string Place(std::string_view field, size_t index);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_JSON_BODY_H_
