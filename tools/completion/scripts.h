// Completion scripts, one shell a file: text for that shell to read.
#ifndef TRELLIS_TOOLS_COMPLETION_SCRIPTS_H_
#define TRELLIS_TOOLS_COMPLETION_SCRIPTS_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/completion/command_shape.h"

namespace trellis::completion {

std::string BashScript(const CommandShape& program);
std::string ZshScript(const CommandShape& program);
std::string FishScript(const CommandShape& program);

// trellis-gateway -> _trellis_gateway
inline std::string FunctionName(const CommandShape& program) {
  return absl::StrCat("_", absl::StrReplaceAll(program.name, {{"-", "_"}}));
}

}  // namespace trellis::completion

#endif  // TRELLIS_TOOLS_COMPLETION_SCRIPTS_H_
