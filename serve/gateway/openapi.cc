#include "serve/gateway/openapi.h"

#include "serve/gateway/json_text.h"
#include "serve/gateway/openapi_schemas.h"
#include "serve/gateway/routes.h"

namespace trellis::gateway {
namespace {

void WriteReference(const char* schema, JsonText& json) {
  json.Raw(R"({"$ref":"#/components/schemas/)").Raw(schema).Raw("\"}");
}

void WriteContent(const char* schema, JsonText& json) {
  json.Raw(R"("content":{"application/json":{"schema":)");
  WriteReference(schema, json);
  json.Raw("}}");
}

void WriteRoute(const Route& route, JsonText& json) {
  json.String(route.path).Raw(route.plan == nullptr ? R"(:{"get":{)" : R"(:{"post":{)");
  json.Raw("\"summary\":").String(route.what);
  if (route.key == Key::kNeeded) json.Raw(R"(,"security":[{},{"key":[]}])");
  if (route.request != nullptr) {
    json.Raw(R"(,"requestBody":{"required":true,)");
    WriteContent(route.request, json);
    json.Raw("}");
  }
  json.Raw(R"(,"responses":{"200":{"description":"OK",)");
  if (route.answer == nullptr) {
    json.Raw(R"("content":{"text/plain":{"schema":{"type":"string"}}})");
  } else {
    WriteContent(route.answer, json);
  }
  json.Raw(R"(},"default":{"description":"An error",)");
  WriteContent(route.dialect == Dialect::kOpenAi ? "OpenAiError" : "TeiError", json);
  json.Raw("}}}}");
}

void WriteFields(std::span<const SchemaField> fields, JsonText& json) {
  json.Raw(R"({"type":"object","required":[)");
  bool first = true;
  for (const SchemaField& field : fields) {
    if (field.presence != SchemaField::Presence::kRequired) continue;
    json.Raw(first ? "" : ",").String(field.name);
    first = false;
  }
  json.Raw(R"(],"properties":{)");
  first = true;
  for (const SchemaField& field : fields) {
    json.Raw(first ? "" : ",").String(field.name).Raw(R"(:{"description":)").String(field.what);
    json.Raw(R"(,"anyOf":[)").Raw(field.json);
    json.Raw(field.presence == SchemaField::Presence::kRequired ? "]}" : R"(,{"type":"null"}]})");
    first = false;
  }
  json.Raw("}}");
}

}  // namespace

std::string WriteOpenApi(std::string_view version) {
  std::string out;
  JsonText json(out);
  json.Raw(R"({"openapi":"3.1.0","info":{"title":"trellis-gateway","version":)").String(version);
  json.Raw(R"(},"paths":{)");
  bool first = true;
  for (const Route& route : Routes()) {
    if (!first) json.Raw(",");
    WriteRoute(route, json);
    first = false;
  }
  json.Raw(R"(},"components":{"securitySchemes":{"key":{"type":"http","scheme":"bearer"}},"schemas":{)");
  first = true;
  for (const auto schemas : {RequestSchemas(), AnswerSchemas()}) {
    for (const NamedSchema& schema : schemas) {
      json.Raw(first ? "" : ",").String(schema.name).Raw(":");
      schema.json != nullptr ? (void)json.Raw(schema.json) : WriteFields(schema.fields, json);
      first = false;
    }
  }
  json.Raw("}}}");
  return out;
}

}  // namespace trellis::gateway
