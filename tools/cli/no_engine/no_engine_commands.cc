// The commands that need an engine, in a build without one: they say how to get it.
#include <string>
#include <vector>

#include "tools/cli/commands.h"

namespace trellis::cli {
namespace {

Command Missing(CLI::App& trellis, const std::string& name, const std::string& does) {
  CLI::App* app =
      trellis.add_subcommand(name, does + " (not in this build: configure with -DTRELLIS_SERVE=ON)");
  app->prefix_command();  // whatever follows is not looked at
  return {app, [name] {
            return absl::UnimplementedError(
                name + ": this build has no engine, expected one configured with -DTRELLIS_SERVE=ON");
          }};
}

}  // namespace

Command AddEmbedCommand(CLI::App& trellis) { return Missing(trellis, "embed", "Embed one text per line."); }
Command AddRerankCommand(CLI::App& trellis) {
  return Missing(trellis, "rerank", "Score documents for a query.");
}

}  // namespace trellis::cli
