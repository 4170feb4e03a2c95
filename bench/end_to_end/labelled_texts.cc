#include "bench/end_to_end/labelled_texts.h"

#include <simdjson.h>

#include <algorithm>
#include <string_view>

namespace trellis::bench {

absl::StatusOr<std::vector<LabelledTexts>> ReadLabelledTexts(const std::string& path) {
  simdjson::dom::parser parser;
  simdjson::dom::array entries;
  const simdjson::error_code error = parser.load(path).get(entries);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        path + ": expected a JSON array of [label, text]: " + simdjson::error_message(error));
  }
  std::vector<LabelledTexts> labels;
  size_t index = 0;
  for (const simdjson::dom::element entry : entries) {
    simdjson::dom::array both;
    std::string_view label, text;
    if (entry.get(both) != simdjson::SUCCESS || both.size() != 2 ||
        both.at(0).get(label) != simdjson::SUCCESS || both.at(1).get(text) != simdjson::SUCCESS) {
      return absl::InvalidArgumentError(path + ": entry " + std::to_string(index) +
                                        ": expected [label, text], two strings");
    }
    auto found = std::find_if(labels.begin(), labels.end(),
                              [label = label](const LabelledTexts& known) { return known.label == label; });
    if (found == labels.end()) found = labels.insert(labels.end(), {std::string(label), {}});
    found->texts.emplace_back(text);
    ++index;
  }
  if (labels.empty()) return absl::InvalidArgumentError(path + ": expected at least one text");
  return labels;
}

}  // namespace trellis::bench
