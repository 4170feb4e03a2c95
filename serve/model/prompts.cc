#include "serve/model/prompts.h"

#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "serve/engine/json_file.h"

namespace trellis::model {

absl::StatusOr<std::string_view> Prompts::Named(std::string_view name) const {
  if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
  std::string names;
  for (const auto& [known, text] : by_name) absl::StrAppend(&names, names.empty() ? "one of " : ", ", known);
  return absl::NotFoundError(
      absl::StrCat("prompt \"", std::string(name), "\", expected ",
                   names.empty() ? "none: the model's folder names no prompts" : names));
}

std::string_view Prompts::Default() const {
  const auto found = by_name.find(default_name);
  return found == by_name.end() ? std::string_view() : found->second;
}

absl::StatusOr<Prompts> ReadPrompts(const std::string& folder) {
  Prompts prompts;
  const std::string path = (std::filesystem::path(folder) / "config_sentence_transformers.json").string();
  absl::StatusOr<engine::JsonFile> file = engine::JsonFile::Read(path);
  if (absl::IsNotFound(file.status())) return prompts;
  if (!file.ok()) return file.status();
  const engine::JsonNode root = file->root();
  (void)root.Fields();  // refuses keys that come twice
  if (root.Has("prompts")) {
    for (const auto& [name, text] : root.Child("prompts").Fields()) prompts.by_name[name] = text.Text();
  }
  prompts.default_name = root.String("default_prompt_name", "");
  if (root.Has("default_prompt_name") && !prompts.by_name.contains(prompts.default_name)) {
    root.Fail(root.Wrong("default_prompt_name", "a name under prompts"));
  }
  if (!file->status().ok()) return file->status();
  return prompts;
}

}  // namespace trellis::model
