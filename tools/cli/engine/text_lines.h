// The texts of files, one a line or one JSON value a line, in order and on the caller's thread.
#ifndef TRELLIS_TOOLS_CLI_ENGINE_TEXT_LINES_H_
#define TRELLIS_TOOLS_CLI_ENGINE_TEXT_LINES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/cli/encode_flags.h"
#include "tools/cli/jsonl_input.h"

namespace trellis::cli {

enum class LineForm { kText, kJson };

struct TextWork {
  // The request lives until the call returns. An error gets `FILE:LINE: ` in front.
  std::function<absl::Status(const TextRequest&)> each;
  // Where input may be waited for, and at the end: results so far should go out.
  std::function<absl::Status()> pause;
};

// Stops at the first error; what came before it is handed over first. A line with a pair is an error: a row
// here is one text.
absl::Status ForEachText(const std::vector<std::string>& files, LineForm form, const EncodeFlags& defaults,
                         const TextWork& work);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_ENGINE_TEXT_LINES_H_
