// `trellis`: the library on the command line. Exit status: 0 all well, 1 the
// input or the model is at fault, 2 wrong usage.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <clocale>
#include <csignal>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/cli/commands.h"
#include "tools/cli/standard_output.h"
#include "tools/completion/completion.h"
#include "trellis/version.h"

namespace {

constexpr int kFault = 1;
constexpr int kWrongUsage = 2;

// A standard stream that was closed when we started would be the next file that
// anything opens, and output would go there unseen. In its place comes one that
// can only be used the other way round, so that its use is an error.
void OccupyStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    // The lowest free one, which is `fd`; without /dev/null nothing can be done.
    (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int Finish(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << std::string(status.message()) << std::endl;
  return kFault;
}

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardStreams();
  // A reader that leaves ends us quietly, even when our parent ignored the signal.
  std::signal(SIGPIPE, SIG_DFL);
  // Only the width of characters in tables depends on it.
  std::setlocale(LC_CTYPE, "C.UTF-8");

  CLI::App app("Exact, fast Unigram tokenization.", "trellis");
  app.set_version_flag("--version", std::string("trellis ") + trellis::Version());
  trellis::completion::AddCompletionOption(app);
  app.require_subcommand(1);
  app.footer("Exit status: 0 all well; 1 the input or the model is at fault; 2 wrong usage.");
  const std::vector<trellis::cli::Command> commands = {
      trellis::cli::AddEncodeCommand(app), trellis::cli::AddDecodeCommand(app),
      trellis::cli::AddCountCommand(app), trellis::cli::AddExplainCommand(app),
      trellis::cli::AddInfoCommand(app),   trellis::cli::AddCompileCommand(app),
      trellis::cli::AddEmbedCommand(app),  trellis::cli::AddRerankCommand(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version, --completion
    std::ostringstream out;
    app.exit(wanted, out, std::cerr);
    return Finish(trellis::cli::WriteStandardOutput(out.str()));
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cerr, std::cerr);
    return kWrongUsage;
  }
  try {
    for (const trellis::cli::Command& command : commands) {
      if (command.app->parsed()) return Finish(command.run());
    }
  } catch (const std::bad_alloc&) {
    return Finish(absl::ResourceExhaustedError("out of memory"));
  }
  return kWrongUsage;
}
