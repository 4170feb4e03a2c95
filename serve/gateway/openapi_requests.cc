#include "serve/gateway/openapi_schemas.h"

namespace trellis::gateway {
namespace {

using Field = SchemaField;
constexpr auto kOptional = Field::Presence::kOptional, kRequired = Field::Presence::kRequired;

constexpr const char* kBool = R"({"type":"boolean"})";
constexpr const char* kString = R"({"type":"string"})";
constexpr const char* kCount = R"({"type":"integer","minimum":1})";
constexpr const char* kTexts = R"({"type":"array","minItems":1,"items":{"type":"string"}})";
constexpr const char* kTextOrTexts =
    R"({"anyOf":[{"type":"string"},{"type":"array","minItems":1,"items":{"type":"string"}}]})";
constexpr const char* kIds = R"({"type":"array","minItems":1,"items":{"type":"integer","minimum":0}})";

// Fields that several requests have.
constexpr Field kModel = {"model", kOptional, kString, "One of the names of /v1/models."};
constexpr Field kTruncate = {"truncate", kOptional, kBool,
                             "Cut what is too long; else it is an error. Default: --auto-truncate."};
constexpr Field kDirection = {"truncation_direction", kOptional,
                              R"({"enum":["Left","Right","left","right"],"default":"Right"})",
                              "The side that is cut."};
constexpr Field kAddSpecials = {"add_special_tokens", kOptional, R"({"type":"boolean","default":true})",
                                "Around each text, and around token ids where they are absent."};
constexpr Field kMatchSpecials = {
    "match_special_tokens", kOptional, kBool,
    "Whether a text such as </s> is the special token of that name. Default: not --shield."};
constexpr Field kPromptName = {"prompt_name", kOptional, kString,
                               "Of config_sentence_transformers.json; in front of each text."};
constexpr Field kNormalize = {"normalize", kOptional, R"({"type":"boolean","default":true})",
                              "To unit length."};
constexpr Field kDimensions = {"dimensions", kOptional, kCount, "The first so many, before normalizing."};
constexpr Field kRawScores = {"raw_scores", kOptional, R"({"type":"boolean","default":false})",
                              "The model's logits instead of scores from 0 to 1."};
constexpr Field kTopN = {"top_n", kOptional, kCount, "So many of the best; absent: all."};
constexpr Field kQuery = {"query", kRequired, kString, "What the texts are compared with."};
constexpr Field kInputs = {"inputs", kRequired, R"({"$ref":"#/components/schemas/Inputs"})",
                           "What is embedded."};

constexpr Field kOpenAiEmbeddings[] = {
    {"input", kRequired, R"({"$ref":"#/components/schemas/Inputs"})", "What is embedded."},
    kModel,
    {"encoding_format", kOptional, R"({"enum":["float","base64"],"default":"float"})",
     "base64: the little-endian bytes of 32-bit floats."},
    kDimensions,
    kNormalize,
    kTruncate,
    kDirection,
    kAddSpecials,
    kMatchSpecials,
    kPromptName};
constexpr Field kRerank[] = {
    kModel,
    kQuery,
    {"documents", kRequired,
     R"({"type":"array","minItems":1,"items":{"anyOf":[{"type":"string"},)"
     R"({"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}]}})",
     "What is ranked."},
    kTopN,
    {"return_documents", kOptional, R"({"type":"boolean","default":false})",
     "Each text beside its score; /v2/rerank never does."},
    {"max_tokens_per_doc", kOptional, kCount, "Documents are cut to so many; absent: to the model's limit."},
    kRawScores,
    kTruncate,
    kDirection,
    kAddSpecials,
    kMatchSpecials};
constexpr Field kTeiRerank[] = {
    kQuery,
    {"texts", kRequired, kTexts, "What is ranked."},
    kTopN,
    {"return_text", kOptional, R"({"type":"boolean","default":false})", "Each text beside its score."},
    kRawScores,
    kTruncate,
    kDirection,
    kAddSpecials,
    kMatchSpecials};
constexpr Field kScore[] = {kModel,
                            {"text_1", kOptional, kTextOrTexts, "One text stands against all of text_2."},
                            {"text_2", kOptional, kTextOrTexts, "As many as text_1, or one of them is one."},
                            {"queries", kOptional, kTextOrTexts, "Another name of text_1, with documents."},
                            {"documents", kOptional, kTextOrTexts, "Another name of text_2, with queries."},
                            kRawScores,
                            kTruncate,
                            kDirection,
                            kAddSpecials,
                            kMatchSpecials};
constexpr Field kEmbed[] = {kInputs,    kNormalize,   kDimensions,    kTruncate,
                            kDirection, kAddSpecials, kMatchSpecials, kPromptName};
constexpr Field kEmbedTokens[] = {kInputs, kTruncate, kDirection, kAddSpecials, kMatchSpecials, kPromptName};
constexpr Field kPredict[] = {
    {"inputs", kRequired,
     R"({"anyOf":[{"type":"string"},{"$ref":"#/components/schemas/Sequence"},)"
     R"({"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Sequence"}}]})",
     "A text, a text or a pair in a list, or a list of such lists."},
    kRawScores,
    kTruncate,
    kDirection,
    kAddSpecials,
    kMatchSpecials};
constexpr Field kSimilarityInputs[] = {
    {"source_sentence", kRequired, kString, "What the others are compared with."},
    {"sentences", kRequired, kTexts, "The others."}};
constexpr Field kSimilarityParameters[] = {kTruncate, kDirection, kAddSpecials, kMatchSpecials, kPromptName};
constexpr Field kSimilarity[] = {
    {"inputs", kRequired, R"({"$ref":"#/components/schemas/SimilarityInputs"})", "The sentences."},
    {"parameters", kOptional, R"({"$ref":"#/components/schemas/SimilarityParameters"})",
     "How they are read."}};
constexpr Field kTokenize[] = {{"inputs", kRequired, kTextOrTexts, "What is tokenized; nothing is cut."},
                               kAddSpecials,
                               kMatchSpecials,
                               kPromptName};
constexpr Field kDecode[] = {
    {"ids", kRequired, R"({"$ref":"#/components/schemas/TokenIds"})", "Token ids, or lists of them."},
    {"skip_special_tokens", kOptional, R"({"type":"boolean","default":true})", "Leave them out."}};

constexpr NamedSchema kRequests[] = {
    {"EmbeddingsRequest", kOpenAiEmbeddings, nullptr},
    {"RerankRequest", kRerank, nullptr},
    {"TeiRerankRequest", kTeiRerank, nullptr},
    {"ScoreRequest", kScore, nullptr},
    {"EmbedRequest", kEmbed, nullptr},
    {"EmbedTokensRequest", kEmbedTokens, nullptr},
    {"PredictRequest", kPredict, nullptr},
    {"SimilarityInputs", kSimilarityInputs, nullptr},
    {"SimilarityParameters", kSimilarityParameters, nullptr},
    {"SimilarityRequest", kSimilarity, nullptr},
    {"TokenizeRequest", kTokenize, nullptr},
    {"DecodeRequest", kDecode, nullptr},
    {"EitherRerankRequest",
     {},
     R"({"anyOf":[{"$ref":"#/components/schemas/TeiRerankRequest"},)"
     R"({"$ref":"#/components/schemas/RerankRequest"}]})"},
    {"Inputs",
     {},
     R"({"anyOf":[{"type":"string","minLength":1},{"$ref":"#/components/schemas/TokenIds"},)"
     R"({"type":"array","minItems":1,"items":{"anyOf":[{"type":"string","minLength":1},)"
     R"({"type":"array","minItems":1,"items":{"type":"integer","minimum":0}}]}}]})"},
    {"Sequence", {}, R"({"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}})"},
    {"TokenIds",
     {},
     R"({"anyOf":[{"type":"array","minItems":1,"items":{"type":"integer","minimum":0}},)"
     R"({"type":"array","minItems":1,"items":{"type":"array","minItems":1,)"
     R"("items":{"type":"integer","minimum":0}}}]})"},
};

}  // namespace

std::span<const NamedSchema> RequestSchemas() { return kRequests; }

}  // namespace trellis::gateway
