// Rows of hf_stages.jsonl (make_hf_stages_golden.py): what tokenizers 0.22.2
// does, stage by stage.
#ifndef TRELLIS_TESTS_STAGE_HF_STAGE_ROWS_H_
#define TRELLIS_TESTS_STAGE_HF_STAGE_ROWS_H_

#include <simdjson.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/spec.h"

namespace trellis::hf_stage {

using Json = simdjson::dom::element;

inline std::string String(Json value) { return std::string(std::string_view(value)); }

template <typename T>
std::vector<T> Numbers(Json value) {
  std::vector<T> numbers;
  for (const Json number : simdjson::dom::array(value)) numbers.push_back(static_cast<T>(int64_t(number)));
  return numbers;
}

inline std::vector<std::string> Strings(Json value) {
  std::vector<std::string> strings;
  for (const Json string : simdjson::dom::array(value)) strings.push_back(String(string));
  return strings;
}

inline PrependScheme Scheme(std::string_view name) {
  if (name == "always") return PrependScheme::kAlways;
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  throw std::runtime_error(std::string(name) + " is no prepend scheme");
}

// Calls f(row) for each row of a kind; returns how many there were.
template <typename F>
size_t ForEachRow(std::string_view kind, F&& f) {
  const std::string path = TRELLIS_SOURCE_DIR "/tests/stage/hf_stages.jsonl";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  size_t count = 0;
  simdjson::dom::parser parser;
  std::string line;
  while (std::getline(file, line)) {
    const Json row = parser.parse(line);
    if (std::string_view(row["kind"]) != kind) continue;
    f(row);
    ++count;
  }
  return count;
}

}  // namespace trellis::hf_stage

#endif  // TRELLIS_TESTS_STAGE_HF_STAGE_ROWS_H_
