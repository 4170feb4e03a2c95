// Whether an engine gives what another one gives, as far as a few rows can tell: a kernel that this GPU,
// driver or library computes otherwise than it was tested must not be served.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_COMPARISON_H_
#define TRELLIS_SERVE_ENGINE_CUDA_COMPARISON_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

// 16 bits alone come to 0.0004 at most on the tiny models (tests: rounding_bounds.py).
inline constexpr double kMostDistance = 1e-3;

// The lengths that are compared, cut to the model's longest: both sides of tiles of 16 and 64, of buckets,
// and of warps. No longer ones: a processor takes long for them, and to the kernels they are more tiles.
inline constexpr int32_t kComparedLengths[] = {1, 7, 16, 33, 64, 100, 128, 257, 512, 1025};

struct Difference {
  double distance = 0;
  Task task = Task::kEmbed;
  int32_t row = 0, rows = 1, tokens = 0;  // the row of how many in its batch
  int round = 0;                          // 0: the batch's first time, then as it was captured and replayed
};

// Of a row's values: 1 - cosine for vectors as long as they come out. For those that are scaled to 1 it is
// half of the squared difference, which is the same where they are of length 1 and sees where they are not.
// For logits and token weights, too, which may well be close to 0 all together and count as no shorter
// than 1.
double DistanceOf(const RowTask& task, const RowValues& got, const RowValues& expected);

// The worst row of all: each task, all lengths in one batch and each in a batch of its own, three times each,
// so that a graph is compared too; every other row is scaled to 1. An error is one of Step's or Wait's.
absl::StatusOr<Difference> CompareEngines(Engine& engine, Engine& reference,
                                          std::span<const int32_t> lengths = kComparedLengths);

// "row 3 of 9 (33 tokens, embed, first run): distance 0.00012"
std::string Describe(const Difference& difference);

// FailedPrecondition above kMostDistance, or if it is no number; with the row and what to do.
absl::Status CheckDifference(const Difference& worst);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_COMPARISON_H_
