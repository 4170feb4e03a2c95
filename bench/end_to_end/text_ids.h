// Ids rather than times: printed for comparison from outside, and compared
// with the tokenizer's own.
#ifndef TRELLIS_BENCH_END_TO_END_TEXT_IDS_H_
#define TRELLIS_BENCH_END_TO_END_TEXT_IDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/end_to_end/label_encoder.h"
#include "bench/end_to_end/labelled_texts.h"
#include "bench/end_to_end/text_path.h"

namespace trellis::bench {

// One line a text, label by label: the ids in decimal, a blank between.
absl::StatusOr<std::string> IdLines(const TextPath& path, const std::vector<LabelledTexts>& labels);

// Fails unless `path` gives what Tokenizer::Encode gives for every text; the
// error names the first text and place where it does not.
absl::Status CheckAgainstTokenizer(const TextPath& path, Columns columns,
                                   const std::vector<LabelledTexts>& labels);

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_TEXT_IDS_H_
