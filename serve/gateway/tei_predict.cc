#include "serve/gateway/tei_predict.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/gateway/json_text.h"
#include "serve/gateway/request_fields.h"
#include "serve/gateway/vectors.h"

namespace trellis::gateway {
namespace {

enum class Form : uint8_t { kOne, kMany };

constexpr std::string_view kForms = "a text, a list of one or two texts, or a list of such lists";

void ReadSequence(JsonBody& body, simdjson::dom::array texts, const std::string& place,
                  std::vector<RowInput>& inputs) {
  std::vector<std::string_view> read;
  for (const JsonValue text : texts) {
    const auto string = body.AsString(text, Place(place, read.size()));
    if (!string.has_value()) return;
    read.push_back(*string);
  }
  if (read.size() == 1 && !read[0].empty()) {
    inputs.emplace_back(read[0]);
  } else if (read.size() == 2) {
    inputs.emplace_back(TextPair{read[0], read[1]});
  } else {
    body.Fail(read.size() < 2 ? Fault::kEmptyInput : Fault::kOutOfRange, place,
              absl::StrCat(read.size() == 1 ? "an empty text" : absl::StrCat(read.size(), " texts"),
                           ", expected one or two"));
  }
}

Form ReadSequences(JsonBody& body, const ServedModel& model, std::vector<RowInput>& inputs) {
  const auto value = body.Required("inputs", kForms);
  if (!value.has_value()) return Form::kOne;
  std::string_view text;
  if (value->get(text) == simdjson::SUCCESS) {
    if (text.empty()) body.Fail(Fault::kEmptyInput, "inputs", "empty, expected a text");
    inputs.emplace_back(text);
    return Form::kOne;
  }
  const auto array = body.AsArray(*value, "inputs", kForms);
  if (!array.has_value()) return Form::kOne;
  if (array->begin() == array->end()) {
    body.Fail(Fault::kEmptyInput, "inputs", "an empty list, expected at least one text");
    return Form::kOne;
  }
  if ((*array->begin()).is_string()) {
    ReadSequence(body, *array, "inputs", inputs);
    return Form::kOne;
  }
  CheckCount(body, "inputs", array->size(), model);
  if (body.error().has_value()) return Form::kMany;
  for (const JsonValue element : *array) {
    const std::string place = Place("inputs", inputs.size());
    const auto sequence = body.AsArray(element, place, "a list of one or two texts");
    if (!sequence.has_value()) return Form::kMany;
    ReadSequence(body, *sequence, place, inputs);
    if (body.error().has_value()) return Form::kMany;
  }
  return Form::kMany;
}

// An engine that is not the folder's own may have more labels than the folder names.
std::string LabelOf(const std::vector<std::string>& labels, size_t label) {
  return label < labels.size() ? labels[label] : absl::StrCat("LABEL_", label);
}

void WriteRow(std::span<const float> logits, Scores scores, const std::vector<std::string>& labels,
              JsonText& json) {
  json.Raw("[");
  bool first = true;
  for (const LabelScore& label : LabelScores(logits, scores, labels)) {
    json.Raw(first ? "{\"score\":" : ",{\"score\":").Float(label.score);
    json.Raw(",\"label\":").String(label.label).Raw("}");
    first = false;
  }
  json.Raw("]");
}

}  // namespace

std::vector<LabelScore> LabelScores(std::span<const float> logits, Scores scores,
                                    const std::vector<std::string>& labels) {
  std::vector<float> shown(logits.begin(), logits.end());
  if (scores == Scores::kShares) shown = shown.size() == 1 ? std::vector{Sigmoid(shown[0])} : Softmax(logits);
  std::vector<LabelScore> best_first;
  for (const size_t label : Descending(logits)) best_first.push_back({LabelOf(labels, label), shown[label]});
  return best_first;
}

Result<RoutePlan> PlanTeiPredict(const RouteCall& call) {
  JsonBody& body = call.body;
  const ServedModel& model = call.model;
  if (body.error().has_value()) return *body.error();
  if (!model.Does(engine::Task::kClassify)) return Unsupported(model, "classifies texts");
  RowWork work;
  const Form form = ReadSequences(body, model, work.inputs);
  work.rules = ReadRules(body, "inputs", model);
  const Scores scores = body.Bool("raw_scores").value_or(false) ? Scores::kRaw : Scores::kShares;
  if (body.error().has_value()) return *body.error();
  work.task = {.task = engine::Task::kClassify};
  work.write = [form, scores, &labels = model.folder.labels](const ComputedRows& rows) {
    std::string out;
    JsonText json(out);
    if (form == Form::kMany) json.Raw("[");
    for (size_t r = 0; r < rows.size(); ++r) {
      if (r > 0) json.Raw(",");
      WriteRow(rows.values(r), scores, labels, json);
    }
    if (form == Form::kMany) json.Raw("]");
    return out;
  };
  return RoutePlan(std::move(work));
}

}  // namespace trellis::gateway
