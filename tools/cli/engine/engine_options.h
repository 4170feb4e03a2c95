// MODEL and the options that every command with an engine shares.
#ifndef TRELLIS_TOOLS_CLI_ENGINE_ENGINE_OPTIONS_H_
#define TRELLIS_TOOLS_CLI_ENGINE_ENGINE_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/engine.h"
#include "serve/model/model_folder.h"

namespace trellis::cli {

struct EngineOptions {
  std::string folder;
  std::vector<std::string> files;
  bool jsonl = false;
  std::string dtype = "auto";
  int threads = 0;
};

void AddModelFolder(CLI::App& command, EngineOptions& options);
void AddEngineOptions(CLI::App& command, EngineOptions& options);

struct OpenedModel {
  model::ModelFolder folder;
  std::unique_ptr<engine::Engine> engine;
};

absl::StatusOr<OpenedModel> OpenModel(const EngineOptions& options);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_ENGINE_ENGINE_OPTIONS_H_
