#include "serve/gateway/tei_embed.h"

#include <cstddef>
#include <string>
#include <utility>

#include "serve/gateway/json_text.h"
#include "serve/gateway/request_fields.h"
#include "serve/gateway/vectors.h"

namespace trellis::gateway {
namespace {

std::string WriteVectors(const ComputedRows& rows) {
  std::string out;
  JsonText json(out);
  json.Raw("[");
  for (size_t r = 0; r < rows.size(); ++r) json.Raw(r == 0 ? "" : ",").Floats(rows.values(r));
  json.Raw("]");
  return out;
}

std::string WriteTokenVectors(const ComputedRows& rows) {
  std::string out;
  JsonText json(out);
  json.Raw("[");
  for (size_t r = 0; r < rows.size(); ++r) {
    json.Raw(r == 0 ? "[" : ",[");
    const auto tokens = static_cast<size_t>(rows.cu_seqlens[r + 1] - rows.cu_seqlens[r]);
    const size_t width = rows.values(r).size() / tokens;
    for (size_t t = 0; t < tokens; ++t)
      json.Raw(t == 0 ? "" : ",").Floats(rows.values(r).subspan(t * width, width));
    json.Raw("]");
  }
  json.Raw("]");
  return out;
}

std::string WriteWeights(const ComputedRows& rows) {
  std::string out;
  JsonText json(out);
  json.Raw("[");
  for (size_t r = 0; r < rows.size(); ++r) {
    json.Raw(r == 0 ? "[" : ",[");
    const server::RowReply& row = rows.replies[r];
    for (size_t i = 0; i < row.indices.size(); ++i) {
      json.Raw(i == 0 ? "{\"index\":" : ",{\"index\":").Integer(row.indices[i]);
      json.Raw(",\"value\":").Float(row.values[i]).Raw("}");
    }
    json.Raw("]");
  }
  json.Raw("]");
  return out;
}

// What the three of them share; `shape`: whether they have normalize and dimensions.
enum class Shape : uint8_t { kFixed, kChosen };
Result<RoutePlan> Plan(const RouteCall& call, engine::RowTask task, Shape shape, std::string_view wanted,
                       std::string (*write)(const ComputedRows&)) {
  JsonBody& body = call.body;
  const ServedModel& model = call.model;
  if (body.error().has_value()) return *body.error();
  if (!model.Does(task.task)) return Unsupported(model, wanted);
  RowWork work;
  work.inputs = ReadInputs(body, "inputs", model);
  work.rules = ReadRules(body, "inputs", model);
  ReadPrompt(body, model, work.rules);
  CheckPromptFits(body, work.inputs);
  work.task = task;
  if (shape == Shape::kChosen) ReadVectorShape(body, model, work.task);
  if (body.error().has_value()) return *body.error();
  work.write = write;
  return RoutePlan(std::move(work));
}

}  // namespace

Result<RoutePlan> PlanTeiEmbed(const RouteCall& call) {
  return Plan(call, {.task = engine::Task::kEmbed, .pooling = call.model.policy.pooling}, Shape::kChosen,
              "embeds texts", WriteVectors);
}

engine::RowTask TokenVectorsTask(const ServedModel& model) {
  const auto normalize = model.folder.config.colbert_head ? engine::Normalize::kL2 : engine::Normalize::kNone;
  return {.task = engine::Task::kEmbedAll, .normalize = normalize};
}

Result<RoutePlan> PlanTeiEmbedAll(const RouteCall& call) {
  return Plan(call, TokenVectorsTask(call.model), Shape::kFixed, "gives a vector a token", WriteTokenVectors);
}

Result<RoutePlan> PlanTeiEmbedSparse(const RouteCall& call) {
  return Plan(call, {.task = engine::Task::kSparse}, Shape::kFixed, "gives weights of tokens", WriteWeights);
}

Result<RoutePlan> PlanTeiSimilarity(const RouteCall& call) {
  JsonBody& body = call.body;
  const ServedModel& model = call.model;
  if (body.error().has_value()) return *body.error();
  if (!model.Does(engine::Task::kEmbed)) return Unsupported(model, "embeds texts");
  const auto inputs = body.Required("inputs", "an object with source_sentence and sentences");
  if (inputs.has_value() && !inputs->is_object()) {
    body.Fail(Fault::kWrongType, "inputs",
              JsonBody::Quoted(*inputs) + ", expected an object with source_sentence and sentences");
  }
  const auto parameters = body.Find("parameters");
  if (parameters.has_value() && !parameters->is_object())
    body.Fail(Fault::kWrongType, "parameters", JsonBody::Quoted(*parameters) + ", expected an object");
  RowWork work;
  body.Within("inputs");
  const auto source = body.Required("source_sentence", "a string");
  const auto text = source.has_value() ? body.AsString(*source, "source_sentence") : std::nullopt;
  if (text.has_value() && text->empty())
    body.Fail(Fault::kEmptyInput, "source_sentence", "empty, expected a text");
  const std::vector<std::string_view> sentences = ReadTexts(body, "sentences", model);
  CheckNotEmpty(body, "sentences", sentences);
  CheckCount(body, "sentences", sentences.size() + 1, model);
  body.Within("parameters");
  work.rules = ReadRules(body, "sentences", model);
  work.rules.leading_field = "source_sentence";
  work.rules.leading = 1;
  ReadPrompt(body, model, work.rules);
  if (body.error().has_value()) return *body.error();
  work.inputs.emplace_back(*text);
  for (const std::string_view sentence : sentences) work.inputs.emplace_back(sentence);
  work.task = {.task = engine::Task::kEmbed, .pooling = model.policy.pooling};
  work.write = [](const ComputedRows& rows) {
    std::string out;
    JsonText json(out);
    json.Raw("[");
    for (size_t r = 1; r < rows.size(); ++r)
      json.Raw(r == 1 ? "" : ",").Float(Cosine(rows.values(0), rows.values(r)));
    json.Raw("]");
    return out;
  };
  return RoutePlan(std::move(work));
}

}  // namespace trellis::gateway
