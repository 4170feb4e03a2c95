// Lines through workers, results in the order of the input.
//
// Chunks of lines go round a ring of slots: the reader fills them, workers take
// them, and the caller's thread hands the results to the sink in order. The
// ring is the bound: no more chunks are in memory than it has slots.
#ifndef TRELLIS_TOOLS_CLI_PARALLEL_LINES_H_
#define TRELLIS_TOOLS_CLI_PARALLEL_LINES_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/cli/line_reader.h"

namespace trellis::cli {

// One thread's worker.
class LineWorker {
 public:
  virtual ~LineWorker() = default;
  // Appends the result of one line to `out`, or says what was expected. The
  // line is followed by LineChunk::kPadding readable bytes.
  virtual absl::Status Line(std::string_view line, std::string& out) = 0;
};

struct LineWork {
  // Called once a thread, from the caller's thread.
  std::function<std::unique_ptr<LineWorker>()> make_worker;
  // Called in order from the caller's thread with whole results only.
  std::function<absl::Status(const LineChunk& chunk, std::string_view out)> sink;
};

// Stops at the first line that fails: the results before it are handed over,
// the error is `FILE:LINE: ` and what the worker said.
absl::Status RunLines(LineReader& reader, unsigned threads, const LineWork& work);

// What --threads means: 0 is one for each core.
unsigned ThreadCount(unsigned wanted);

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_PARALLEL_LINES_H_
