// --completion SHELL: prints what makes that shell complete a program's command line.
#ifndef TRELLIS_TOOLS_COMPLETION_COMPLETION_H_
#define TRELLIS_TOOLS_COMPLETION_COMPLETION_H_

#include <CLI/CLI.hpp>

namespace trellis::completion {

// As --version, it ends parsing with a CLI::Success that app.exit() prints, required options or not. `app` is
// read only then, so what is added to it later is in the script too.
void AddCompletionOption(CLI::App& app);

}  // namespace trellis::completion

#endif  // TRELLIS_TOOLS_COMPLETION_COMPLETION_H_
