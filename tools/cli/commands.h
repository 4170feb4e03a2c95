// The commands of `trellis`, one file each.
#ifndef TRELLIS_TOOLS_CLI_COMMANDS_H_
#define TRELLIS_TOOLS_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "absl/status/status.h"

namespace trellis::cli {

// A command that was declared to CLI11, and what it does once the options are
// read. An error's message is for standard error and names the place.
struct Command {
  CLI::App* app = nullptr;
  std::function<absl::Status()> run;
};

Command AddEncodeCommand(CLI::App& trellis);
Command AddDecodeCommand(CLI::App& trellis);
Command AddCountCommand(CLI::App& trellis);
Command AddExplainCommand(CLI::App& trellis);
Command AddInfoCommand(CLI::App& trellis);
Command AddCompileCommand(CLI::App& trellis);
// In tools/cli/engine; a build without an engine has the ones in tools/cli/no_engine.
Command AddEmbedCommand(CLI::App& trellis);
Command AddRerankCommand(CLI::App& trellis);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_COMMANDS_H_
