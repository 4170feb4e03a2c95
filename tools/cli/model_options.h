// MODEL and the options that every command shares about loading it.
#ifndef TRELLIS_TOOLS_CLI_MODEL_OPTIONS_H_
#define TRELLIS_TOOLS_CLI_MODEL_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "trellis/load.h"

namespace trellis::cli {

struct ModelOptions {
  std::string path;
  LoadOptions load;
};

void AddModelOptions(CLI::App& command, ModelOptions& options);
// The two that say which model it is.
void AddModelArgument(CLI::App& command, std::string& path);
void AddFairseqFlag(CLI::App& command, SentencePieceOptions& options);

absl::StatusOr<Tokenizer> LoadModel(const ModelOptions& options);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_MODEL_OPTIONS_H_
