#include "tools/completion/completion.h"

#include <string>

#include "tools/completion/command_shape.h"
#include "tools/completion/scripts.h"

namespace trellis::completion {
namespace {

std::string ScriptOf(const CLI::App& app, const std::string& shell) {
  const CommandShape program = ShapeOf(app);
  std::string script = shell == "bash"  ? BashScript(program)
                       : shell == "zsh" ? ZshScript(program)
                                        : FishScript(program);
  script.pop_back();  // app.exit() ends the line
  return script;
}

}  // namespace

void AddCompletionOption(CLI::App& app) {
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string& shell) { throw CLI::CallForVersion(ScriptOf(app, shell), 0); },
         "Print a script that makes the shell complete this program's options and exit")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace trellis::completion
