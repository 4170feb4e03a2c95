// Standard output, whole lines at a time, with write errors noticed.
#ifndef TRELLIS_TOOLS_CLI_STANDARD_OUTPUT_H_
#define TRELLIS_TOOLS_CLI_STANDARD_OUTPUT_H_

#include <string_view>

#include "absl/status/status.h"

namespace trellis::cli {

// Unbuffered: callers hand over many lines at once. A reader that went away
// ends the program by SIGPIPE, as it does every Unix tool.
absl::Status WriteStandardOutput(std::string_view bytes);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_STANDARD_OUTPUT_H_
