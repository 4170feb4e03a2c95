// The engine as a program that another one drives, so that several engines can take turns: batches from a
// file, commands from stdin, a line of JSON for each.
#ifndef TRELLIS_BENCH_SERVE_BATCH_COMMANDS_H_
#define TRELLIS_BENCH_SERVE_BATCH_COMMANDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/engine.h"

namespace trellis::engine {

// Rows of token ids end to end, each to become one vector.
struct Rows {
  std::vector<int32_t> ids, cu_seqlens{0};
  std::vector<RowTask> tasks;

  void Add(const std::vector<int32_t>& row);
  PackedBatch view() const { return {ids, {}, cu_seqlens, tasks}; }
};

struct Timing {
  int runs = 0;
  double least = 0, median = 0;  // seconds from Step to the end of Wait
  double cpu = 0;                // seconds of all threads in the run that took least
};

// Runs until `seconds` have passed, and `least_runs` times.
absl::StatusOr<Timing> Time(Engine& engine, const Rows& rows, double seconds, int least_runs);

// A row a line: the name of its batch, then its ids, separated by blanks.
absl::StatusOr<std::map<std::string, Rows>> ReadBatches(const std::string& path);

// Until stdin ends, lines with tabs between their words:
//   vectors NAME FILE       writes the batch's vectors, float32
//   warm NAME               runs it once
//   time NAME PACKING S     for S seconds; rows are packed without padding, whatever PACKING says
absl::Status RunCommands(Engine& engine, const std::map<std::string, Rows>& batches);

}  // namespace trellis::engine

#endif  // TRELLIS_BENCH_SERVE_BATCH_COMMANDS_H_
