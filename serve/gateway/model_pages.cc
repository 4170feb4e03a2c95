#include "serve/gateway/model_pages.h"

#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "serve/gateway/json_text.h"

namespace trellis::gateway {
namespace {

const char* PoolingName(const ServedModel& model) {
  const engine::Pooling asked = model.policy.pooling;
  switch (asked == engine::Pooling::kModel ? model.folder.config.pooling : asked) {
    case engine::Pooling::kCls:
      return "cls";
    case engine::Pooling::kLast:
      return "last_token";
    default:
      return "mean";
  }
}

void WriteType(const ServedModel& model, JsonText& json) {
  if (!model.Does(engine::Task::kClassify)) {
    json.Raw("{\"embedding\":{\"pooling\":").String(PoolingName(model)).Raw("}}");
    return;
  }
  json.Raw(model.Reranks() ? "{\"reranker\":{\"id2label\":{" : "{\"classifier\":{\"id2label\":{");
  const std::vector<std::string>& labels = model.folder.labels;
  for (size_t i = 0; i < labels.size(); ++i)
    json.Raw(i == 0 ? "" : ",").String(absl::StrCat(i)).Raw(":").String(labels[i]);
  json.Raw("},\"label2id\":{");
  for (size_t i = 0; i < labels.size(); ++i)
    json.Raw(i == 0 ? "" : ",").String(labels[i]).Raw(":").Integer(static_cast<int64_t>(i));
  json.Raw("}}}");
}

}  // namespace

std::string WriteModels(const ServedModel& model) {
  std::string out;
  JsonText json(out);
  json.Raw("{\"object\":\"list\",\"data\":[");
  for (size_t i = 0; i < model.names.size(); ++i) {
    json.Raw(i == 0 ? "" : ",").Raw("{\"id\":").String(model.names[i]);
    json.Raw(",\"object\":\"model\",\"created\":").Integer(model.facts.started_unix);
    json.Raw(",\"owned_by\":\"trellis\"}");
  }
  json.Raw("]}");
  return out;
}

std::string WriteInfo(const ServedModel& model) {
  const ServerFacts& facts = model.facts;
  std::string out;
  JsonText json(out);
  json.Raw("{\"model_id\":").String(model.names.front()).Raw(",\"model_sha\":null,\"model_dtype\":");
  json.String(facts.dtype).Raw(",\"model_type\":");
  WriteType(model, json);
  json.Raw(",\"max_concurrent_requests\":").Integer(facts.max_concurrent_requests);
  json.Raw(",\"max_input_length\":").Integer(static_cast<int64_t>(model.max_tokens()));
  json.Raw(",\"max_batch_tokens\":").Integer(model.max_batch_tokens).Raw(",\"max_batch_requests\":");
  facts.max_batch_requests > 0 ? json.Integer(facts.max_batch_requests) : json.Raw("null");
  json.Raw(",\"max_client_batch_size\":").Integer(static_cast<int64_t>(model.policy.max_client_batch));
  json.Raw(",\"auto_truncate\":").Raw(model.policy.too_long == EncodeRules::TooLong::kCut ? "true" : "false");
  json.Raw(",\"tokenization_workers\":").Integer(facts.tokenization_workers);
  json.Raw(",\"version\":").String(facts.version).Raw(",\"sha\":null,\"docker_label\":null}");
  return out;
}

}  // namespace trellis::gateway
