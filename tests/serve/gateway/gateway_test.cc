// What holds for every route: readiness, keys, limits, media types, CORS, metrics, the end.
#include "serve/gateway/gateway.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/gateway_fixture.h"

namespace trellis::gateway {
namespace {

constexpr const char* kBody = R"({"inputs":"water"})";

TEST(Gateway, TellsOfItsModel) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) {
    options.gateway.names = {"mine", "alias"};
    options.gateway.facts.version = "1.2.3";
  });
  tiny.Open();
  const Json models(tiny.Get("/v1/models").body);
  EXPECT_EQ(models.Text("/object"), "list");
  EXPECT_EQ(models.Text("/data/0/id"), "mine");
  EXPECT_EQ(models.Text("/data/1/id"), "alias");
  EXPECT_EQ(models.Text("/data/0/object"), "model");
  const Json info(tiny.Get("/info").body);
  EXPECT_EQ(info.Text("/model_id"), "mine");
  EXPECT_EQ(info.Text("/model_type/embedding/pooling"), "mean");
  EXPECT_EQ(info.Integer("/max_input_length"), 64);
  EXPECT_EQ(info.Integer("/max_batch_tokens"), 256);
  EXPECT_EQ(info.Integer("/max_client_batch_size"), 2048);
  EXPECT_EQ(info.Text("/version"), "1.2.3");
  EXPECT_EQ(tiny.Post("/v1/embeddings", R"({"input":"a","model":"alias"})").status, 200);
  TinyGateway reranker("tiny-reranker");
  EXPECT_EQ(Json(reranker.Open().Get("/info").body).Text("/model_type/reranker/id2label/0"), "LABEL_0");
  TinyGateway classifier("tiny-bert-classifier");
  EXPECT_EQ(Json(classifier.Open().Get("/info").body).Integer("/model_type/classifier/label2id/neutral"), 2);
}

TEST(Gateway, IsAliveBeforeItIsReady) {
  TinyGateway tiny("tiny-bert");
  EXPECT_EQ(tiny.Get("/health/live").status, 200);
  for (const char* path : {"/health", "/health/ready", "/ping", "/", "/info"}) {
    const HttpResponse response = tiny.Get(path);
    ExpectTeiError(response, 503, "Unhealthy");
    EXPECT_FALSE(Header(response, "Retry-After").empty());
  }
  ExpectTeiError(tiny.Post("/embed", kBody), 503, "Unhealthy");
  ExpectOpenAiError(tiny.Get("/v1/models"), 503, "unavailable_error", "not_ready");
  tiny.Open();
  for (const char* path : {"/health", "/health/ready", "/health/live", "/ping", "/"})
    EXPECT_EQ(tiny.Get(path).status, 200);
  EXPECT_EQ(tiny.Post("/embed", kBody).status, 200);
}

TEST(Gateway, IsNotReadyWhileItEnds) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  tiny.gateway().Close();
  EXPECT_EQ(tiny.Get("/health/live").status, 200);
  EXPECT_EQ(tiny.Get("/health/ready").status, 503);
  ExpectTeiError(tiny.Post("/embed", kBody), 503, "Unhealthy");
}

TEST(Gateway, AServerThatDrainsIsNotReady) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  EXPECT_TRUE(tiny.server().Drain(std::chrono::minutes(1)));
  EXPECT_EQ(tiny.Get("/health").status, 503);
  ExpectOpenAiError(tiny.Post("/v1/embeddings", R"({"input":"a"})"), 503, "unavailable_error", "not_ready");
}

TEST(Gateway, KeysGuardEveryRouteButHealthAndMetrics) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.api_keys = {"secret", "other"}; });
  tiny.Open();
  for (const Route& route : Routes()) {
    HttpRequest request;
    request.method = route.method;
    request.path = route.path;
    const HttpResponse response = tiny.Send(request);
    if (route.key == Key::kNotNeeded) {
      EXPECT_EQ(response.status, 200) << route.path;
      const std::string path = route.path;
      EXPECT_TRUE(path.starts_with("/health") || path == "/metrics" || path == "/ping" || path == "/")
          << path;
      continue;
    }
    EXPECT_EQ(response.status, 401) << route.path;
    EXPECT_EQ(Header(response, "WWW-Authenticate"), "Bearer") << route.path;
    request.authorization = "Bearer wrong";
    EXPECT_EQ(tiny.Send(request).status, 401) << route.path;
    for (const char* key : {"Bearer secret", "Bearer other"}) {
      request.authorization = key;
      EXPECT_NE(tiny.Send(request).status, 401) << route.path;
    }
  }
}

TEST(Gateway, UnknownPathsAndMethodsAreAnsweredInJson) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  ExpectTeiError(tiny.Get("/nothing"), 404, "Validation");
  ExpectOpenAiError(tiny.Post("/v1/nothing", "{}"), 404, "not_found_error", "path_not_found");
  const HttpResponse get = tiny.Get("/v1/embeddings");
  ExpectOpenAiError(get, 405, "invalid_request_error", "method_not_allowed");
  EXPECT_EQ(Header(get, "Allow"), "POST");
  EXPECT_EQ(Header(tiny.Post("/metrics", "{}"), "Allow"), "GET");
}

TEST(Gateway, OtherMediaTypesAreRefused) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  HttpRequest request;
  request.method = "POST";
  request.path = "/embed";
  request.body = kBody;
  for (const char* type :
       {"", "application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"}) {
    request.content_type = type;
    EXPECT_EQ(tiny.Send(request).status, 200) << type;
  }
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "application/jsonx"}) {
    request.content_type = type;
    ExpectTeiError(tiny.Send(request), 415, "Validation");
  }
}

TEST(Gateway, EveryPostRouteRefusesEveryMalformedBody) {
  TinyGateway tiny("tiny-bert");
  TinyGateway reranker("tiny-reranker");
  tiny.Open();
  reranker.Open();
  const std::string bodies[] = {"",
                                "{",
                                "[]",
                                "null",
                                "\"a\"",
                                "{\"a\":\"\xff\"}",
                                "{\"a\":\"\\ud800\"}",
                                std::string(100000, '['),
                                std::string(100000, '{'),
                                "{\"input\":",
                                "{}{}",
                                std::string("{\"a\":\"\0\"}", 9),
                                "\xef\xbb\xbf",
                                "{\"a\":1e999}",
                                "nul"};
  size_t routes = 0;
  for (const Route& route : Routes()) {
    if (route.plan == nullptr) continue;
    ++routes;
    for (const std::string& body : bodies) {
      for (TinyGateway* gateway : {&tiny, &reranker}) {
        const HttpResponse response = gateway->Post(route.path, body);
        EXPECT_TRUE(response.status == 400 || response.status == 422 || response.status == 424)
            << route.path << ' ' << body.substr(0, 20) << ": " << response.status << response.body;
        const Json json(response.body);
        EXPECT_TRUE(json.Has("/error")) << response.body;
      }
    }
  }
  EXPECT_EQ(routes, 14u);
  EXPECT_EQ(tiny.Post("/embed", kBody).status, 200);
}

TEST(Gateway, IdsComeBack) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  HttpRequest request;
  request.method = "POST";
  request.path = "/embed";
  request.body = kBody;
  request.request_id = "mine-1";
  EXPECT_EQ(Header(tiny.Send(request), "x-request-id"), "mine-1");
  request.path = "/none";
  EXPECT_EQ(Header(tiny.Send(request), "x-request-id"), "mine-1");
}

TEST(Gateway, PagesOfTheRightOriginMayAsk) {
  HttpRequest preflight;
  preflight.method = "OPTIONS";
  preflight.path = "/v1/embeddings";
  preflight.origin = "https://page.example";
  TinyGateway closed("tiny-bert");
  EXPECT_EQ(closed.Open().Send(preflight).status, 405);
  TinyGateway open("tiny-bert",
                   [](TestOptions& options) { options.gateway.cors_allow_origin = "https://page.example"; });
  open.Open();
  const HttpResponse allowed = open.Send(preflight);
  EXPECT_EQ(allowed.status, 204);
  EXPECT_EQ(Header(allowed, "Access-Control-Allow-Origin"), "https://page.example");
  EXPECT_NE(Header(allowed, "Access-Control-Allow-Headers").find("authorization"), std::string::npos);
  EXPECT_NE(Header(allowed, "Access-Control-Allow-Headers").find("content-type"), std::string::npos);
  HttpRequest request;
  request.method = "POST";
  request.path = "/embed";
  request.body = kBody;
  EXPECT_EQ(Header(open.Send(request), "Access-Control-Allow-Origin"), "");
  request.origin = "https://page.example";
  EXPECT_EQ(Header(open.Send(request), "Access-Control-Allow-Origin"), "https://page.example");
  request.body = "{";
  EXPECT_EQ(Header(open.Send(request), "Access-Control-Allow-Origin"), "https://page.example")
      << "errors too";
}

// server::Reply::hold: what the server counts as undelivered, which bounds what slow readers can make it keep.
TEST(Gateway, AnAnswerOfOneChunkIsHeldUntilItIsWritten) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  EXPECT_NE(tiny.Post("/embed", kBody).hold, nullptr);
  EXPECT_EQ(tiny.Post("/tokenize", kBody).hold, nullptr);
  std::string many = R"({"inputs":["water")";
  for (int i = 0; i < 200; ++i) many += ",\"water\"";
  EXPECT_EQ(tiny.Post("/embed", many + "]}").hold, nullptr) << "more tokens than a batch has";
}

TEST(Gateway, PlacesForRequestsAreBounded) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.max_concurrent_requests = 0; });
  tiny.Open();
  const HttpResponse full = tiny.Post("/embed", kBody);
  ExpectTeiError(full, 429, "Overloaded");
  EXPECT_EQ(Header(full, "Retry-After"), "1");
  EXPECT_EQ(tiny.Get("/health").status, 200) << "health needs no place";
}

TEST(Gateway, WhoHasItsAnswerFindsItsPlaceFree) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.max_concurrent_requests = 1; });
  tiny.Open();
  HttpRequest request;
  request.method = "POST";
  request.path = "/embed";
  request.body = kBody;
  std::promise<int> second;
  tiny.gateway().Serve(request, [&](const HttpResponse&) {
    tiny.gateway().Serve(request, [&](const HttpResponse& again) { second.set_value(again.status); });
  });
  EXPECT_EQ(second.get_future().get(), 200);
}

TEST(Gateway, ARequestThatIsOutOfTimeIsToldSo) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) {
    options.gateway.policy.timeout = std::chrono::milliseconds(0);
  });
  tiny.Open();
  ExpectTeiError(tiny.Post("/embed", kBody), 504, "Backend");
  ExpectOpenAiError(tiny.Post("/v1/embeddings", R"({"input":"a"})"), 504, "timeout_error", "timeout");
}

// A query is tokenized with each of its documents: when time is up, or an input is wrong, the rest is left.
// If it were not, this would take minutes.
TEST(Gateway, NobodyTokenizesWhatNobodyWillGet) {
  std::string documents = "\"a\"";
  for (int i = 1; i < 512; ++i) documents += ",\"a\"";
  const std::string query = "\"query\":\"" + std::string(1'000'000, 'x') + "\",";
  const auto ask = [&](const char* path, const char* field, std::chrono::milliseconds timeout) {
    TinyGateway tiny("tiny-reranker", [&](TestOptions& options) { options.gateway.policy.timeout = timeout; });
    tiny.Open();
    return tiny.Post(path, "{" + query + "\"" + field + "\":[" + documents + "]}");
  };
  ExpectTeiError(ask("/rerank", "texts", std::chrono::milliseconds(500)), 504, "Backend");
  EXPECT_EQ(ask("/v1/rerank", "documents", std::chrono::minutes(5)).status, 400);
}

}  // namespace
}  // namespace trellis::gateway
