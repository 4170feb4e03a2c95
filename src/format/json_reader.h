// Strict reading of JSON values with simdjson On-Demand, in document order, so
// that unknown and repeated keys are seen. Every value is either read or walked
// through: On-Demand itself does not look at what it skips.
//
// Errors are InvalidArgument and read `place: value, expected what`, e.g.
// `model.vocab[17][1]: "-1.0", expected a number`.
#ifndef TRELLIS_SRC_FORMAT_JSON_READER_H_
#define TRELLIS_SRC_FORMAT_JSON_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "simdjson.h"

// Returns from the function when `expression` is a bad status. The counter keeps
// the names apart when lambdas inside the expression use it too.
#define TRELLIS_TRY(expression) TRELLIS_TRY_NUMBERED(expression, __COUNTER__)
#define TRELLIS_TRY_NUMBERED(expression, number) TRELLIS_TRY_NAMED(expression, number)
#define TRELLIS_TRY_NAMED(expression, number)                                         \
  do {                                                                                \
    if (absl::Status try_status_##number = (expression); !try_status_##number.ok()) { \
      return try_status_##number;                                                     \
    }                                                                                 \
  } while (false)

namespace trellis::internal {

using JsonValue = simdjson::ondemand::value;
using JsonObject = simdjson::ondemand::object;

// Arrays and objects inside each other that serde_json takes (its limit is the
// 128th).
inline constexpr size_t kMaxJsonNesting = 127;

// Where a value stands. A chain on the stack; text is made only for an error.
class JsonPlace {
 public:
  JsonPlace() = default;  // the whole file
  JsonPlace Field(std::string_view key) const { return JsonPlace(this, key, kNoIndex); }
  JsonPlace Element(size_t index) const { return JsonPlace(this, {}, index); }

  size_t nesting() const { return nesting_; }
  std::string ToString() const;
  // `place: problem`.
  absl::Status Error(std::string_view problem) const;
  // `place: value, expected what`; reads the value's text from the file.
  absl::Status Expected(JsonValue& value, std::string_view what) const;
  // The same for what is known and comes later.
  absl::Status NotSupported(std::string_view value, std::string_view what) const;

 private:
  static constexpr size_t kNoIndex = SIZE_MAX;
  JsonPlace(const JsonPlace* parent, std::string_view key, size_t index)
      : parent_(parent), key_(key), index_(index), nesting_(parent->nesting_ + 1) {}

  const JsonPlace* parent_ = nullptr;
  std::string_view key_;
  size_t index_ = kNoIndex;
  size_t nesting_ = 1;  // containers open once this value is one
};

// A value for an error message: quoted, and cut when it is long.
std::string Quoted(std::string_view text, size_t longest = 60);

// The scalar's own bytes, without the blanks that follow; of a container, only
// its bracket.
std::string_view JsonToken(JsonValue& value);
bool IsNull(JsonValue& value);

absl::Status ReadString(JsonValue& value, const JsonPlace& place, std::string& out);
absl::Status ReadBool(JsonValue& value, const JsonPlace& place, bool& out);
absl::Status ReadDouble(JsonValue& value, const JsonPlace& place, double& out);
// `max` is inclusive; `what` completes the message, e.g. "a token id".
absl::Status ReadUnsigned(JsonValue& value, const JsonPlace& place, uint64_t max, std::string_view what,
                          uint64_t& out);
// Any value: walks through it so that broken JSON does not pass.
absl::Status CheckAny(JsonValue& value, const JsonPlace& place);

// simdjson's own complaint.
absl::Status BrokenJson(const JsonPlace& place, simdjson::error_code error);
// A key's text; `storage` is used when it has escapes.
absl::Status ReadKey(simdjson::ondemand::field& field, const JsonPlace& place, std::string& storage,
                     std::string_view& key);
absl::Status OpenObject(JsonValue& value, const JsonPlace& place, JsonObject& object);
absl::Status OpenArray(JsonValue& value, const JsonPlace& place, simdjson::ondemand::array& array);

// Calls f(key, value, place) -> absl::Status for each field, in the file's order.
template <typename F>
absl::Status ForEachField(JsonObject& object, const JsonPlace& place, F&& f) {
  std::string storage;
  for (simdjson::simdjson_result<simdjson::ondemand::field> result : object) {
    simdjson::ondemand::field field;
    if (const auto error = std::move(result).get(field)) return BrokenJson(place, error);
    std::string_view key;
    TRELLIS_TRY(ReadKey(field, place, storage, key));
    JsonValue value = field.value();
    TRELLIS_TRY(f(key, value, place.Field(key)));
  }
  return absl::OkStatus();
}

template <typename F>
absl::Status ForEachField(JsonValue& value, const JsonPlace& place, F&& f) {
  JsonObject object;
  TRELLIS_TRY(OpenObject(value, place, object));
  return ForEachField(object, place, f);
}

// Calls f(value, place) -> absl::Status for each element of an array.
template <typename F>
absl::Status ForEachElement(JsonValue& value, const JsonPlace& place, F&& f) {
  simdjson::ondemand::array array;
  TRELLIS_TRY(OpenArray(value, place, array));
  size_t index = 0;
  for (simdjson::simdjson_result<JsonValue> result : array) {
    JsonValue element;
    const JsonPlace element_place = place.Element(index++);
    if (const auto error = std::move(result).get(element)) return BrokenJson(element_place, error);
    TRELLIS_TRY(f(element, element_place));
  }
  return absl::OkStatus();
}

// An object as serde's derive reads a struct: a known field that comes twice or
// a required one that is missing is an error, unknown fields are ignored. Calls
// f(key, value, place) for the known ones.
template <typename F>
absl::Status ReadStruct(JsonValue& value, const JsonPlace& place,
                        std::initializer_list<std::string_view> required,
                        std::initializer_list<std::string_view> optional, F&& f) {
  uint32_t seen = 0;
  TRELLIS_TRY(ForEachField(value, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    size_t number = static_cast<size_t>(std::find(required.begin(), required.end(), key) - required.begin());
    if (number == required.size()) {
      number += static_cast<size_t>(std::find(optional.begin(), optional.end(), key) - optional.begin());
    }
    if (number == required.size() + optional.size()) return CheckAny(field, at);
    if ((seen >> number & 1) != 0) return at.Error("comes twice, expected it once");
    seen |= uint32_t{1} << number;
    return absl::Status(f(key, field, at));
  }));
  size_t number = 0;
  for (const std::string_view key : required) {
    if ((seen >> number++ & 1) == 0) return place.Field(key).Error("missing, expected a value");
  }
  return absl::OkStatus();
}

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_FORMAT_JSON_READER_H_
