// How long Encode takes, in the states that must never be mixed up: a repeated
// text, that every cache and the branch predictor know, and fresh ones.
#ifndef TRELLIS_BENCH_END_TO_END_ENCODE_BENCH_H_
#define TRELLIS_BENCH_END_TO_END_ENCODE_BENCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/end_to_end/label_encoder.h"
#include "bench/end_to_end/labelled_texts.h"
#include "bench/end_to_end/text_path.h"

namespace trellis::bench {

struct LabelResult {
  std::string label;
  size_t texts = 0;
  uint64_t tokens = 0;  // of all texts once
  uint64_t bytes = 0;
  // NaN when nothing was timed.
  double p50_us = 0;
  double p99_us = 0;
  double us_per_512_tokens = 0;
  double allocations = 0;  // for each call in steady state
};

// Each text alone in a loop after warm-up. us_per_512_tokens is from the sum
// of the texts' p50.
absl::StatusOr<std::vector<LabelResult>> BenchRepeated(const TextPath& path, Columns columns,
                                                       const std::vector<LabelledTexts>& labels);

// Each text encoded exactly `iterations` times with neither warm-up nor clock:
// for counting instructions from outside.
absl::StatusOr<std::vector<LabelResult>> LoopRepeated(const TextPath& path, Columns columns,
                                                      const std::vector<LabelledTexts>& labels,
                                                      uint64_t iterations);

// `passes` over the texts, the labels interleaved, each label with a Scratch of
// its own whose word cache is cleared at the start of a pass. The result is the
// pass whose total is the label's median.
absl::StatusOr<std::vector<LabelResult>> BenchFresh(const TextPath& path, Columns columns,
                                                    const std::vector<LabelledTexts>& labels, size_t passes);

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_ENCODE_BENCH_H_
