#include "serve/gateway/openai_embeddings.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/gateway/json_text.h"
#include "serve/gateway/request_fields.h"

namespace trellis::gateway {
namespace {

enum class Encoding : uint8_t { kFloat, kBase64 };

Encoding ReadEncoding(JsonBody& body) {
  const std::optional<std::string_view> format = body.String("encoding_format");
  if (!format.has_value() || *format == "float") return Encoding::kFloat;
  if (*format != "base64") {
    body.Fail(Fault::kInvalidValue, "encoding_format",
              absl::StrCat("\"", std::string(format->substr(0, 20)), "\", expected \"float\" or \"base64\""));
  }
  return Encoding::kBase64;
}

std::string Write(const ComputedRows& rows, Encoding encoding, const std::string& model) {
  std::string out;
  JsonText json(out);
  json.Raw("{\"object\":\"list\",\"data\":[");
  for (size_t r = 0; r < rows.size(); ++r) {
    json.Raw(r == 0 ? "" : ",").Raw("{\"object\":\"embedding\",\"index\":").Integer(static_cast<int64_t>(r));
    json.Raw(",\"embedding\":");
    encoding == Encoding::kBase64 ? json.Base64(rows.values(r)) : json.Floats(rows.values(r));
    json.Raw("}");
  }
  json.Raw("],\"model\":").String(model);
  json.Raw(",\"usage\":{\"prompt_tokens\":").Integer(rows.tokens());
  json.Raw(",\"total_tokens\":").Integer(rows.tokens()).Raw("}}");
  return out;
}

}  // namespace

Result<RoutePlan> PlanOpenAiEmbeddings(const RouteCall& call) {
  JsonBody& body = call.body;
  const ServedModel& model = call.model;
  if (auto wrong = CheckModelName(body, model)) return *std::move(wrong);
  if (!model.Does(engine::Task::kEmbed)) return Unsupported(model, "embeds texts");
  RowWork work;
  work.inputs = ReadInputs(body, "input", model);
  work.rules = ReadRules(body, "input", model);
  ReadPrompt(body, model, work.rules);
  CheckPromptFits(body, work.inputs);
  work.task = {.task = engine::Task::kEmbed, .pooling = model.policy.pooling};
  ReadVectorShape(body, model, work.task);
  const Encoding encoding = ReadEncoding(body);
  if (body.error().has_value()) return *body.error();
  work.write = [encoding, name = model.names.front()](const ComputedRows& rows) {
    return Write(rows, encoding, name);
  };
  return RoutePlan(std::move(work));
}

}  // namespace trellis::gateway
