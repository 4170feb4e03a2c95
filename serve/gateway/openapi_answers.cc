#include "serve/gateway/openapi_schemas.h"

namespace trellis::gateway {
namespace {

constexpr const char* kUsage =
    R"({"type":"object","additionalProperties":false,"required":["prompt_tokens","total_tokens"],)"
    R"("properties":{"prompt_tokens":{"type":"integer"},"total_tokens":{"type":"integer"}}})";

constexpr NamedSchema kAnswers[] = {
    {"Usage", {}, kUsage},
    {"Embeddings",
     {},
     R"({"type":"object","additionalProperties":false,"required":["object","data","model","usage"],)"
     R"("properties":{"object":{"const":"list"},"model":{"type":"string"},)"
     R"("usage":{"$ref":"#/components/schemas/Usage"},"data":{"type":"array","items":{"type":"object",)"
     R"("additionalProperties":false,"required":["object","index","embedding"],)"
     R"("properties":{"object":{"const":"embedding"},"index":{"type":"integer","minimum":0},"embedding":)"
     R"({"anyOf":[{"type":"array","items":{"type":"number"}},{"type":"string","contentEncoding":"base64"}]}}}}}})"},
    {"Reranked",
     {},
     R"({"type":"object","additionalProperties":false,)"
     R"("required":["id","object","model","results","usage","meta"],"properties":{"id":{"type":"string"},)"
     R"("object":{"const":"list"},"model":{"type":"string"},"usage":{"$ref":"#/components/schemas/Usage"},)"
     R"("meta":{"type":"object"},"results":{"type":"array","items":{"type":"object",)"
     R"("additionalProperties":false,"required":["index","relevance_score"],)"
     R"("properties":{"index":{"type":"integer","minimum":0},"relevance_score":{"type":"number"},)"
     R"("document":{"type":"object","additionalProperties":false,"required":["text"],)"
     R"("properties":{"text":{"type":"string"}}}}}}}})"},
    {"TeiReranked",
     {},
     R"({"type":"array","items":{"type":"object","additionalProperties":false,"required":["index","score"],)"
     R"("properties":{"index":{"type":"integer","minimum":0},"score":{"type":"number"},)"
     R"("text":{"type":"string"}}}})"},
    {"EitherReranked",
     {},
     R"({"anyOf":[{"$ref":"#/components/schemas/TeiReranked"},{"$ref":"#/components/schemas/Reranked"}]})"},
    {"Scores",
     {},
     R"({"type":"object","additionalProperties":false,"required":["id","object","model","data","usage"],)"
     R"("properties":{"id":{"type":"string"},"object":{"const":"list"},"model":{"type":"string"},)"
     R"("usage":{"$ref":"#/components/schemas/Usage"},"data":{"type":"array","items":{"type":"object",)"
     R"("additionalProperties":false,"required":["index","object","score"],)"
     R"("properties":{"index":{"type":"integer","minimum":0},"object":{"const":"score"},)"
     R"("score":{"type":"number"}}}}}})"},
    {"Vectors", {}, R"({"type":"array","items":{"type":"array","items":{"type":"number"}}})"},
    {"TokenVectors", {}, R"({"type":"array","items":{"$ref":"#/components/schemas/Vectors"}})"},
    {"SparseVectors",
     {},
     R"({"type":"array","items":{"type":"array","items":{"type":"object","additionalProperties":false,)"
     R"("required":["index","value"],)"
     R"("properties":{"index":{"type":"integer","minimum":0},"value":{"type":"number"}}}}})"},
    {"Prediction",
     {},
     R"({"type":"array","items":{"type":"object","additionalProperties":false,"required":["score","label"],)"
     R"("properties":{"score":{"type":"number"},"label":{"type":"string"}}}})"},
    {"Predictions",
     {},
     R"({"anyOf":[{"$ref":"#/components/schemas/Prediction"},)"
     R"({"type":"array","items":{"$ref":"#/components/schemas/Prediction"}}]})"},
    {"Similarities", {}, R"({"type":"array","items":{"type":"number","minimum":-1,"maximum":1}})"},
    {"Tokens",
     {},
     R"({"type":"array","items":{"type":"array","items":{"type":"object","additionalProperties":false,)"
     R"("required":["id","text","special","start","stop"],"properties":{"id":{"type":"integer","minimum":0},)"
     R"("text":{"type":"string"},"special":{"type":"boolean"},"start":{"type":["integer","null"]},)"
     R"("stop":{"type":["integer","null"]}}}}})"},
    {"Texts", {}, R"({"type":"array","items":{"type":"string"}})"},
    {"Models",
     {},
     R"({"type":"object","additionalProperties":false,"required":["object","data"],)"
     R"("properties":{"object":{"const":"list"},"data":{"type":"array","minItems":1,"items":{"type":"object",)"
     R"("additionalProperties":false,"required":["id","object","created","owned_by"],)"
     R"("properties":{"id":{"type":"string"},"object":{"const":"model"},"created":{"type":"integer"},)"
     R"("owned_by":{"type":"string"}}}}}})"},
    {"Info",
     {},
     R"({"type":"object","additionalProperties":false,"required":["model_id","model_sha","model_dtype",)"
     R"("model_type","max_concurrent_requests","max_input_length","max_batch_tokens","max_batch_requests",)"
     R"("max_client_batch_size","auto_truncate","tokenization_workers","version","sha","docker_label"],)"
     R"("properties":{"model_id":{"type":"string"},"model_sha":{"type":"null"},"model_dtype":{"type":"string"},)"
     R"("model_type":{"type":"object","minProperties":1,"maxProperties":1,"additionalProperties":false,)"
     R"("properties":{"embedding":{"type":"object"},"classifier":{"type":"object"},)"
     R"("reranker":{"type":"object"}}},"max_concurrent_requests":{"type":"integer"},)"
     R"("max_input_length":{"type":"integer"},"max_batch_tokens":{"type":"integer"},)"
     R"("max_batch_requests":{"type":["integer","null"]},"max_client_batch_size":{"type":"integer"},)"
     R"("auto_truncate":{"type":"boolean"},"tokenization_workers":{"type":"integer"},)"
     R"("version":{"type":"string"},"sha":{"type":"null"},"docker_label":{"type":"null"}}})"},
    {"Health",
     {},
     R"({"type":"object","additionalProperties":false,"required":["status"],)"
     R"("properties":{"status":{"const":"ok"}}})"},
    {"Description", {}, R"({"type":"object","required":["openapi","info","paths"]})"},
    {"OpenAiError",
     {},
     R"({"type":"object","additionalProperties":false,"required":["error"],"properties":{"error":)"
     R"({"type":"object","additionalProperties":false,"required":["message","type","param","code"],)"
     R"("properties":{"message":{"type":"string"},"type":{"type":"string"},)"
     R"("param":{"type":["string","null"]},"code":{"type":"string"}}}}})"},
    {"TeiError",
     {},
     R"({"type":"object","additionalProperties":false,"required":["error","error_type"],)"
     R"("properties":{"error":{"type":"string"},"error_type":{"enum":)"
     R"(["Unhealthy","Backend","Overloaded","Validation","Tokenizer","Empty","Unauthorized"]}}})"},
};

}  // namespace

std::span<const NamedSchema> AnswerSchemas() { return kAnswers; }

}  // namespace trellis::gateway
