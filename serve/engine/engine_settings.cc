#include "serve/engine/engine_settings.h"

#include <charconv>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace trellis::engine {

absl::Status EngineSettings::Invalid(std::string_view key, std::string_view value,
                                     std::string_view expected) const {
  return absl::InvalidArgumentError(absl::StrCat(std::string(engine_), ": ", std::string(key), ": \"",
                                                 std::string(value), "\", expected ", std::string(expected)));
}

absl::StatusOr<std::string> EngineSettings::TakeFolder(std::string_view& spec) const {
  const size_t comma = spec.find(',');
  std::string folder(spec.substr(0, comma));
  if (folder.empty()) {
    return Invalid(
        "folder", folder,
        absl::StrCat("a model's folder, as in ", std::string(engine_), ":FOLDER,", std::string(example_)));
  }
  spec.remove_prefix(comma == std::string_view::npos ? spec.size() : comma + 1);
  return folder;
}

absl::Status EngineSettings::ForEach(std::string_view spec, const Set& set) const {
  std::set<std::string_view> seen;
  while (!spec.empty()) {
    const size_t comma = spec.find(',');
    const std::string_view setting = spec.substr(0, comma);
    spec.remove_prefix(comma == std::string_view::npos ? spec.size() : comma + 1);
    const size_t equals = setting.find('=');
    if (equals == std::string_view::npos) {
      return Invalid("setting", setting, absl::StrCat("key=value, as in ", std::string(example_)));
    }
    const std::string_view key = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (!seen.insert(key).second) return Invalid(key, value, "each key once");
    if (auto status = set(key, value); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> EngineSettings::Number(std::string_view key, std::string_view value, int64_t least,
                                               int64_t most) const {
  int64_t number = 0;
  if (!ParseWhole(value, least, most, number)) {
    return Invalid(key, value, absl::StrCat("a whole number from ", least, " to ", most));
  }
  return number;
}

bool ParseWhole(std::string_view text, int64_t least, int64_t most, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
}

}  // namespace trellis::engine
