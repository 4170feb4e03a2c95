#include "serve/engine/json_file.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace trellis::engine {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// Indexes of sharded checkpoints, the largest of these files, have a few megabytes.
constexpr uintmax_t kMostBytes = 64u << 20;
constexpr size_t kLongestQuoted = 60;

std::string Shown(const std::optional<element>& value) {
  if (!value.has_value() || value->is_null()) return "missing";
  switch (value->type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    default:
      break;
  }
  std::string text = simdjson::minify(*value);
  if (text.size() > kLongestQuoted) {
    size_t end = kLongestQuoted;
    while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not through a character
    text.resize(end);
    text += "...";
  }
  return text;
}

}  // namespace

struct JsonFile::Parsed {
  std::string name;
  simdjson::dom::parser parser;
  element root;
  absl::Status status;
};

absl::StatusOr<JsonFile> JsonFile::Parse(std::string name, std::string_view json) {
  auto parsed = std::make_shared<Parsed>();
  parsed->name = std::move(name);
  if (const auto error = parsed->parser.parse(json.data(), json.size()).get(parsed->root)) {
    return absl::InvalidArgumentError(
        absl::StrCat(parsed->name, ": expected JSON: ", simdjson::error_message(error)));
  }
  return JsonFile(std::move(parsed));
}

absl::StatusOr<JsonFile> JsonFile::Read(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status found = fs::status(path, error);
  if (found.type() == fs::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file, expected a JSON file"));
  }
  if (error || found.type() != fs::file_type::regular) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no plain file, expected a JSON file"));
  }
  const uintmax_t size = fs::file_size(path, error);
  if (error || size > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ",
                                                   error ? error.message() : absl::StrCat(size, " bytes"),
                                                   ", expected at most ", kMostBytes, " bytes"));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in || (size > 0 && !in.read(bytes.data(), static_cast<std::streamsize>(size)))) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read, expected a readable JSON file"));
  }
  return Parse(path, bytes);
}

JsonNode JsonFile::root() const { return JsonNode(parsed_, "", parsed_->root); }
const absl::Status& JsonFile::status() const { return parsed_->status; }

std::optional<element> JsonNode::Find(std::string_view key) const {
  if (key.empty()) return value_;
  simdjson::dom::object object;
  element found;
  if (!value_.has_value() || value_->get(object) != simdjson::SUCCESS) return std::nullopt;
  if (object.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

std::string JsonNode::PlaceOf(std::string_view key) const {
  if (key.empty()) return place_;
  return absl::StrCat(place_, place_.empty() ? "" : ".", std::string(key));
}

std::string JsonNode::Told(std::string_view key, std::string_view expected) const {
  const std::string place = PlaceOf(key);
  return absl::StrCat(parsed_->name, ": ", place, place.empty() ? "" : ": ", Shown(Find(key)), ", expected ",
                      std::string(expected));
}

absl::Status JsonNode::Wrong(std::string_view key, std::string_view expected) const {
  return absl::InvalidArgumentError(Told(key, expected));
}
absl::Status JsonNode::Unknown(std::string_view key, std::string_view expected) const {
  return absl::UnimplementedError(Told(key, expected));
}
void JsonNode::Fail(absl::Status wrong) const {
  if (parsed_->status.ok()) parsed_->status = std::move(wrong);
}

bool JsonNode::Has(std::string_view key) const { return Find(key).has_value(); }

std::optional<element> JsonNode::Get(std::string_view key, std::string_view expected) const {
  if (!parsed_->status.ok()) return std::nullopt;
  std::optional<element> found = Find(key);
  if (!found.has_value()) Fail(Wrong(key, expected));
  return found;
}

std::string JsonNode::String(std::string_view key, std::optional<std::string> otherwise) const {
  if (otherwise.has_value() && !Has(key)) return *otherwise;
  const std::optional<element> found = Get(key, "a string");
  std::string_view text;
  if (found.has_value() && found->get(text) != simdjson::SUCCESS) Fail(Wrong(key, "a string"));
  return std::string(text);
}

std::string JsonNode::Text() const { return String(""); }

int64_t JsonNode::Integer(std::string_view key, int64_t least, int64_t most,
                          std::optional<int64_t> otherwise) const {
  if (otherwise.has_value() && !Has(key)) return *otherwise;
  const std::string expected = absl::StrCat("a whole number from ", least, " to ", most);
  const std::optional<element> found = Get(key, expected);
  int64_t number = 0;
  if (!found.has_value()) return 0;
  if (found->get(number) == simdjson::SUCCESS && number >= least && number <= most) return number;
  Fail(Wrong(key, expected));
  return 0;
}

double JsonNode::Number(std::string_view key, double otherwise) const {
  if (!Has(key)) return otherwise;
  const std::optional<element> found = Get(key, "a number");
  double number = 0;
  if (found.has_value() && found->get(number) != simdjson::SUCCESS) Fail(Wrong(key, "a number"));
  return number;
}

bool JsonNode::IsTrue(std::string_view key) const {
  if (!Has(key)) return false;
  bool value = false;
  if (Find(key)->get(value) != simdjson::SUCCESS) Fail(Wrong(key, "true or false"));
  return value;
}

bool JsonNode::IsFalse(std::string_view key) const {
  return Has(key) && !IsTrue(key) && parsed_->status.ok();
}

JsonNode JsonNode::Child(std::string_view key) const {
  return JsonNode(parsed_, PlaceOf(key), Get(key, "a value"));
}

std::vector<std::string> JsonNode::Strings(std::string_view key) const {
  std::vector<std::string> strings;
  if (!Has(key)) return strings;
  for (const JsonNode& node : Child(key).Elements()) strings.push_back(node.Text());
  return strings;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::Fields() const {
  std::vector<std::pair<std::string, JsonNode>> fields;
  if (!parsed_->status.ok()) return fields;
  simdjson::dom::object object;
  if (!value_.has_value() || value_->get(object) != simdjson::SUCCESS) {
    Fail(Wrong("", "an object"));
    return fields;
  }
  std::set<std::string_view> seen;
  for (const auto [key, value] : object) {
    if (!seen.insert(key).second) {
      Fail(absl::InvalidArgumentError(
          absl::StrCat(parsed_->name, ": ", PlaceOf(key), ": comes twice, expected it once")));
      return {};
    }
    fields.emplace_back(std::string(key), JsonNode(parsed_, PlaceOf(key), value));
  }
  return fields;
}

std::vector<JsonNode> JsonNode::Elements() const {
  std::vector<JsonNode> elements;
  if (!parsed_->status.ok()) return elements;
  simdjson::dom::array array;
  if (!value_.has_value() || value_->get(array) != simdjson::SUCCESS) {
    Fail(Wrong("", "an array"));
    return elements;
  }
  for (const element value : array) {
    elements.push_back(JsonNode(parsed_, absl::StrCat(place_, "[", elements.size(), "]"), value));
  }
  return elements;
}

std::vector<int64_t> JsonNode::Integers(std::string_view key, int64_t least, int64_t most,
                                        size_t most_elements) const {
  const std::string expected =
      absl::StrCat("an array of at most ", most_elements, " whole numbers from ", least, " to ", most);
  std::vector<int64_t> numbers;
  const std::optional<element> found = Get(key, expected);
  if (!found.has_value()) return numbers;
  simdjson::dom::array array;
  if (found->get(array) != simdjson::SUCCESS || array.size() > most_elements) {
    Fail(Wrong(key, expected));
    return numbers;
  }
  for (const element value : array) {
    int64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS || number < least || number > most) {
      Fail(absl::InvalidArgumentError(absl::StrCat(parsed_->name, ": ", PlaceOf(key), "[", numbers.size(),
                                                   "]: ", Shown(value), ", expected a whole number from ",
                                                   least, " to ", most)));
      return {};
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace trellis::engine
