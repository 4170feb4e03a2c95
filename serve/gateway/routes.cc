#include "serve/gateway/routes.h"

#include "absl/strings/str_cat.h"
#include "serve/gateway/openai_embeddings.h"
#include "serve/gateway/page_files.h"
#include "serve/gateway/rerank.h"
#include "serve/gateway/score.h"
#include "serve/gateway/tei_embed.h"
#include "serve/gateway/tei_predict.h"
#include "serve/gateway/tokens.h"

namespace trellis::gateway {
namespace {

constexpr Route Get(const char* path, Key key, Page page, const char* answer, const char* what,
                    Dialect dialect = Dialect::kTei) {
  return {path, "GET", dialect, key, page, nullptr, nullptr, answer, what};
}
constexpr Route Post(const char* path, Dialect dialect, RouteFunction plan, const char* request,
                     const char* answer, const char* what) {
  return {path, "POST", dialect, Key::kNeeded, Page::kNone, plan, request, answer, what};
}

constexpr Dialect kOpenAi = Dialect::kOpenAi, kTei = Dialect::kTei;

constexpr Route kRoutes[] = {
    Post("/v1/embeddings", kOpenAi, PlanOpenAiEmbeddings, "EmbeddingsRequest", "Embeddings",
         "Vectors of texts or token ids, as OpenAI has it."),
    Post("/embeddings", kOpenAi, PlanOpenAiEmbeddings, "EmbeddingsRequest", "Embeddings",
         "The same as /v1/embeddings."),
    Post("/v1/rerank", kOpenAi, PlanRerankV1, "RerankRequest", "Reranked",
         "Documents ranked by a query, as Cohere v1 and Jina have it."),
    Post("/v2/rerank", kOpenAi, PlanRerankV2, "RerankRequest", "Reranked",
         "Documents ranked by a query, as Cohere v2 has it."),
    Post("/v1/score", kOpenAi, PlanScore, "ScoreRequest", "Scores", "Scores of pairs of texts."),
    Post("/score", kOpenAi, PlanScore, "ScoreRequest", "Scores", "The same as /v1/score."),
    Post("/embed", kTei, PlanTeiEmbed, "EmbedRequest", "Vectors", "Vectors of texts."),
    Post("/embed_all", kTei, PlanTeiEmbedAll, "EmbedTokensRequest", "TokenVectors",
         "Vectors of all tokens of texts."),
    Post("/embed_sparse", kTei, PlanTeiEmbedSparse, "EmbedTokensRequest", "SparseVectors",
         "Token weights of texts."),
    Post("/rerank", kTei, PlanRerank, "EitherRerankRequest", "EitherReranked",
         "Texts ranked by a query; with `documents` as /v1/rerank."),
    Post("/predict", kTei, PlanTeiPredict, "PredictRequest", "Predictions",
         "Labels of texts or pairs, with scores."),
    Post("/similarity", kTei, PlanTeiSimilarity, "SimilarityRequest", "Similarities",
         "Cosines of one sentence and others."),
    Post("/tokenize", kTei, PlanTokenize, "TokenizeRequest", "Tokens", "Tokens of texts, with byte offsets."),
    Post("/decode", kTei, PlanDecode, "DecodeRequest", "Texts", "Texts of token ids."),
    Get("/v1/models", Key::kNeeded, Page::kModels, "Models", "The models that are served.", kOpenAi),
    Get("/info", Key::kNeeded, Page::kInfo, "Info", "The model and the limits."),
    Get("/openapi.json", Key::kNeeded, Page::kOpenApi, "Description", "This description."),
    Get("/health", Key::kNotNeeded, Page::kReady, "Health", "Whether requests are served now."),
    Get("/health/ready", Key::kNotNeeded, Page::kReady, "Health", "Whether requests are served now."),
    Get("/health/live", Key::kNotNeeded, Page::kLive, "Health", "Whether the program runs."),
    Get("/ping", Key::kNotNeeded, Page::kReady, "Health", "Whether requests are served now."),
    Get("/", Key::kNotNeeded, Page::kRoot, "Health",
        "Whether requests are served now; to a browser, the page to try the model."),
    Get("/metrics", Key::kNotNeeded, Page::kMetrics, nullptr, "Prometheus series."),
};

// Not of the API.
constexpr Route kPageFile = Get("/", Key::kNotNeeded, Page::kPageFile, nullptr, "A file of the page.");

std::string Clipped(std::string_view text) { return std::string(text.substr(0, 100)); }

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

Dialect DialectOf(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (path == route.path) return route.dialect;
  }
  return path.starts_with("/v1/") || path.starts_with("/v2/") ? kOpenAi : kTei;
}

Result<const Route*> FindRoute(std::string_view method, std::string_view path) {
  const Route* same_path = nullptr;
  const auto is_it = [&](const Route& route) {
    same_path = &route;
    const std::string_view wanted = route.method;
    return method == wanted || (method == "HEAD" && wanted == "GET");
  };
  for (const Route& route : kRoutes) {
    if (path == route.path && is_it(route)) return &route;
  }
  if (same_path == nullptr && FindPageFile(path) != nullptr && is_it(kPageFile)) return &kPageFile;
  if (same_path == nullptr)
    return ApiError{Fault::kPathNotFound, absl::StrCat("no such path: ", Clipped(path))};
  return ApiError{Fault::kMethodNotAllowed,
                  absl::StrCat(Clipped(method), " ", Clipped(path), ": expected ", same_path->method),
                  same_path->method};
}

}  // namespace trellis::gateway
