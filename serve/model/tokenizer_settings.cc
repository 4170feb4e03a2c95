#include "serve/model/tokenizer_settings.h"

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "serve/engine/json_file.h"

namespace trellis::model {
namespace {

namespace fs = std::filesystem;

// Tokenizer classes of transformers whose model_input_names have token_type_ids, by how they begin: what
// those folders' models were trained with.
constexpr std::string_view kTypedClasses[] = {"Bert", "Albert", "DebertaV2", "XLNet", "PreTrainedTokenizer"};
constexpr std::pair<std::string_view, std::string_view> kFamilyClasses[] = {
    {"bert", "BertTokenizer"},
    {"roberta", "RobertaTokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"},
    {"camembert", "CamembertTokenizer"},
};

struct Stored {
  std::optional<int32_t> max_length;
  std::optional<bool> typed;  // by model_input_names
  std::string tokenizer_class;
};

absl::Status Wrong(const std::string& path, std::string_view key, std::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", std::string(key), ": expected ", std::string(expected)));
}

absl::Status ReadField(const std::string& path, std::string_view key, simdjson::ondemand::value value,
                       Stored& stored) {
  if (bool null = false; value.is_null().get(null) == simdjson::SUCCESS && null) return absl::OkStatus();
  if (key == "model_max_length") {
    // "No limit" is the integer nearest to 1e30, which only a double holds.
    double length = 0;
    if (value.get_double().get(length) != simdjson::SUCCESS || length < 1)
      return Wrong(path, key, "a number from 1");
    if (length <= std::numeric_limits<int32_t>::max()) stored.max_length = static_cast<int32_t>(length);
  } else if (key == "model_input_names") {
    simdjson::ondemand::array names;
    if (value.get_array().get(names) != simdjson::SUCCESS) return Wrong(path, key, "an array of strings");
    stored.typed = false;
    for (auto element : names) {
      std::string_view name;
      if (element.get_string().get(name) != simdjson::SUCCESS) return Wrong(path, key, "an array of strings");
      if (name == "token_type_ids") stored.typed = true;
    }
  } else if (key == "tokenizer_class") {
    std::string_view name;
    if (value.get_string().get(name) != simdjson::SUCCESS) return Wrong(path, key, "a string");
    stored.tokenizer_class = std::string(name);
  }
  return absl::OkStatus();
}

// simdjson's other interface, which JsonFile uses, refuses a file that has such an integer anywhere.
absl::StatusOr<Stored> ReadStored(const std::string& path) {
  Stored stored;
  std::error_code error;
  if (!fs::exists(path, error)) return stored;
  simdjson::padded_string bytes;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (!fs::is_regular_file(path, error) ||
      simdjson::padded_string::load(path).get(bytes) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read, expected a JSON file"));
  }
  auto failed = parser.iterate(bytes).get(document);
  if (!failed) failed = document.get_object().get(object);
  if (failed) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a JSON object: ", simdjson::error_message(failed)));
  }
  std::set<std::string> seen;
  for (auto field : object) {
    std::string_view key;
    simdjson::ondemand::value value;
    failed = field.unescaped_key().get(key);
    const std::string name(failed ? std::string_view() : key);
    if (!failed) failed = field.value().get(value);
    if (failed) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected JSON: ", simdjson::error_message(failed)));
    }
    if (!seen.insert(name).second) return Wrong(path, name, "it once, found it twice");
    if (const absl::Status read = ReadField(path, name, value, stored); !read.ok()) return read;
  }
  return stored;
}

absl::StatusOr<std::string> ClassByConfig(const std::string& folder) {
  absl::StatusOr<engine::JsonFile> config =
      engine::JsonFile::Read((fs::path(folder) / "config.json").string());
  if (!config.ok()) return config.status();
  const engine::JsonNode root = config->root();
  const std::string model_type = root.String("model_type", "");
  std::string name = root.String("tokenizer_class", "");
  if (!config->status().ok()) return config->status();
  if (!name.empty()) return name;
  for (const auto& [family, tokenizer_class] : kFamilyClasses) {
    if (family == model_type) return std::string(tokenizer_class);
  }
  return name;
}

}  // namespace

absl::StatusOr<TokenizerSettings> ReadTokenizerSettings(const std::string& folder) {
  absl::StatusOr<Stored> stored = ReadStored((fs::path(folder) / "tokenizer_config.json").string());
  if (!stored.ok()) return stored.status();
  TokenizerSettings settings;
  settings.max_length = stored->max_length;
  settings.tokenizer_class = std::move(stored->tokenizer_class);
  if (settings.tokenizer_class.empty()) {
    absl::StatusOr<std::string> found = ClassByConfig(folder);
    if (!found.ok()) return found.status();
    settings.tokenizer_class = *std::move(found);
  }
  const bool typed =
      std::any_of(std::begin(kTypedClasses), std::end(kTypedClasses),
                  [&](std::string_view begin) { return settings.tokenizer_class.starts_with(begin); });
  settings.type_ids = stored->typed.value_or(typed) ? TypeIds::kTemplate : TypeIds::kZero;
  return settings;
}

}  // namespace trellis::model
