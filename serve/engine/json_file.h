// A JSON file of a model's folder, and its values with the place where they stand. The first thing that is
// wrong is kept and reads `FILE: key.key: value, expected what`; what is asked for afterwards is empty. So a
// caller reads all it needs and looks at status() once, before it uses any of it.
#ifndef TRELLIS_SERVE_ENGINE_JSON_FILE_H_
#define TRELLIS_SERVE_ENGINE_JSON_FILE_H_

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trellis::engine {

class JsonNode;

class JsonFile {
 public:
  // NotFound: there is no such file. InvalidArgument: it is no JSON, or larger than any such file has reason
  // to be.
  static absl::StatusOr<JsonFile> Read(const std::string& path);
  // `name` stands for the file in messages.
  static absl::StatusOr<JsonFile> Parse(std::string name, std::string_view json);

  JsonNode root() const;
  const absl::Status& status() const;

 private:
  friend class JsonNode;
  struct Parsed;
  explicit JsonFile(std::shared_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<Parsed> parsed_;
};

// One value. A key whose value is null counts as absent: that is how Python's writers spell "not set".
class JsonNode {
 public:
  bool Has(std::string_view key) const;

  // The value of `key`; without it `otherwise`, and where there is no `otherwise` that is an error.
  std::string String(std::string_view key, std::optional<std::string> otherwise = std::nullopt) const;
  int64_t Integer(std::string_view key, int64_t least, int64_t most,
                  std::optional<int64_t> otherwise = std::nullopt) const;
  double Number(std::string_view key, double otherwise) const;
  bool IsTrue(std::string_view key) const;   // there, and true
  bool IsFalse(std::string_view key) const;  // there, and false
  JsonNode Child(std::string_view key) const;
  std::vector<std::string> Strings(std::string_view key) const;  // an array of strings; absent: none

  // This value itself.
  std::string Text() const;
  bool is_string() const { return value_.has_value() && value_->is_string(); }
  std::vector<std::pair<std::string, JsonNode>> Fields()
      const;  // in the file's order; a key that comes twice is an error
  std::vector<JsonNode> Elements() const;
  std::vector<int64_t> Integers(std::string_view key, int64_t least, int64_t most,
                                size_t most_elements) const;

  // `FILE: place.key: value, expected what`; an empty key is this value itself.
  absl::Status Wrong(std::string_view key, std::string_view expected) const;
  // The same for what is well-formed and known to exist, but not here.
  absl::Status Unknown(std::string_view key, std::string_view expected) const;
  // Keeps `wrong` as the file's first error.
  void Fail(absl::Status wrong) const;

 private:
  friend class JsonFile;
  JsonNode(std::shared_ptr<JsonFile::Parsed> parsed, std::string place,
           std::optional<simdjson::dom::element> value)
      : parsed_(std::move(parsed)), place_(std::move(place)), value_(value) {}
  std::optional<simdjson::dom::element> Find(std::string_view key) const;
  std::string PlaceOf(std::string_view key) const;
  std::string Told(std::string_view key, std::string_view expected) const;
  // Whether a value that was asked for can be read: no error so far, and it is there.
  std::optional<simdjson::dom::element> Get(std::string_view key, std::string_view expected) const;

  std::shared_ptr<JsonFile::Parsed> parsed_;
  std::string place_;
  std::optional<simdjson::dom::element> value_;  // none: absent
};

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_JSON_FILE_H_
