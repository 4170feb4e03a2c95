// TEXTS.json: [[label, text], ...]; several texts may share a label.
#ifndef TRELLIS_BENCH_END_TO_END_LABELLED_TEXTS_H_
#define TRELLIS_BENCH_END_TO_END_LABELLED_TEXTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace trellis::bench {

struct LabelledTexts {
  std::string label;
  std::vector<std::string> texts;
};

// Labels in the order of their first text. Errors name the file and the entry.
absl::StatusOr<std::vector<LabelledTexts>> ReadLabelledTexts(const std::string& path);

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_LABELLED_TEXTS_H_
