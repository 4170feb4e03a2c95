// What transformers and sentence-transformers say of a tiny model: its reference.json, which
// tools/make_tiny_models wrote.
#ifndef TRELLIS_TESTS_SERVE_MODEL_REFERENCE_H_
#define TRELLIS_TESTS_SERVE_MODEL_REFERENCE_H_

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/serve/model_files.h"

namespace trellis::testing {

struct ReferenceRow {
  std::vector<int32_t> ids, type_ids;  // type_ids: or empty, all 0
  std::map<std::string, std::vector<float>>
      answers;                      // by what they are: hidden, mean, embedding, logits, ...
  std::vector<int32_t> sparse_ids;  // of the answer "sparse", ascending
};

inline void AppendFlat(simdjson::dom::element element, std::vector<float>& values) {
  if (!element.is_array()) {
    values.push_back(static_cast<float>(element.get_double().value()));
    return;
  }
  for (const auto part : element.get_array()) AppendFlat(part, values);
}

inline std::vector<ReferenceRow> ReferenceRows(std::string_view model) {
  simdjson::dom::parser parser;
  std::vector<ReferenceRow> rows;
  for (const auto row : parser.load(TinyModel(model) + "/reference.json")["rows"].get_array()) {
    ReferenceRow& read = rows.emplace_back();
    for (const auto [key, value] : row.get_object()) {
      if (key == "ids" || key == "type_ids") {
        std::vector<int32_t>& ids = key == "ids" ? read.ids : read.type_ids;
        for (const auto id : value.get_array()) ids.push_back(static_cast<int32_t>(id.get_int64().value()));
        continue;
      }
      std::vector<float>& answer = read.answers[std::string(key)];
      if (key != "sparse") {
        AppendFlat(value, answer);
        continue;
      }
      for (const auto pair : value.get_array()) {
        read.sparse_ids.push_back(static_cast<int32_t>(pair.at(0).get_int64().value()));
        answer.push_back(static_cast<float>(pair.at(1).get_double().value()));
      }
    }
  }
  return rows;
}

}  // namespace trellis::testing

#endif  // TRELLIS_TESTS_SERVE_MODEL_REFERENCE_H_
