// The texts and pairs of a tiny model's reference.json, as transformers and sentence-transformers answer
// them.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_REFERENCE_TEXTS_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_REFERENCE_TEXTS_H_

#include <simdjson.h>

#include <string>
#include <vector>

#include "tests/serve/model_files.h"
#include "tests/serve/model_reference.h"

namespace trellis::gateway {

struct ReferenceText {
  std::string text, prompt_name;
  std::vector<int32_t> ids;
  std::vector<float> embedding;
};
struct ReferencePair {
  std::string query, document;
  std::vector<int32_t> ids;
  std::vector<float> logits;
};

inline std::vector<int32_t> IdsOf(simdjson::dom::element array) {
  std::vector<int32_t> ids;
  for (const auto id : array.get_array()) ids.push_back(static_cast<int32_t>(id.get_int64().value()));
  return ids;
}

inline std::vector<ReferenceText> ReferenceTexts(const std::string& model) {
  simdjson::dom::parser parser;
  std::vector<ReferenceText> texts;
  for (const auto text : parser.load(testing::TinyModel(model) + "/reference.json")["texts"].get_array()) {
    ReferenceText& read = texts.emplace_back();
    read.text = std::string(text["text"].get_string().value());
    if (text["prompt_name"].error() == simdjson::SUCCESS)
      read.prompt_name = std::string(text["prompt_name"].get_string().value());
    read.ids = IdsOf(text["ids"].value());
    testing::AppendFlat(text["embedding"].value(), read.embedding);
  }
  return texts;
}

inline std::vector<ReferencePair> ReferencePairs(const std::string& model) {
  simdjson::dom::parser parser;
  std::vector<ReferencePair> pairs;
  for (const auto pair : parser.load(testing::TinyModel(model) + "/reference.json")["pairs"].get_array()) {
    ReferencePair& read = pairs.emplace_back();
    read.query = std::string(pair["query"].get_string().value());
    read.document = std::string(pair["document"].get_string().value());
    read.ids = IdsOf(pair["ids"].value());
    testing::AppendFlat(pair["logits"].value(), read.logits);
  }
  return pairs;
}

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_REFERENCE_TEXTS_H_
