// Every POST route, a body of each that must be served, and a gateway whose engine does all of them.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_POST_ROUTES_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_POST_ROUTES_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "serve/gateway/routes.h"
#include "tests/serve/gateway/http_client.h"
#include "tests/serve/gateway/http_errors.h"
#include "tests/serve/gateway/loopback.h"

namespace trellis::gateway {

// Fails for a route that has no line here, so that none is left out.
inline std::string GoodBody(const std::string& path) {
  static const std::map<std::string, std::string> bodies = {
      {"/v1/embeddings", R"({"input":"water"})"},
      {"/embeddings", R"({"input":"water"})"},
      {"/v1/rerank", R"({"query":"a","documents":["b","c"]})"},
      {"/v2/rerank", R"({"query":"a","documents":["b","c"]})"},
      {"/v1/score", R"({"text_1":"a","text_2":["b","c"]})"},
      {"/score", R"({"text_1":"a","text_2":["b","c"]})"},
      {"/embed", R"({"inputs":"water"})"},
      {"/embed_all", R"({"inputs":"water"})"},
      {"/embed_sparse", R"({"inputs":"water"})"},
      {"/rerank", R"({"query":"a","texts":["b","c"]})"},
      {"/predict", R"({"inputs":"water"})"},
      {"/similarity", R"({"inputs":{"source_sentence":"a","sentences":["b"]}})"},
      {"/tokenize", R"({"inputs":"water"})"},
      {"/decode", R"({"ids":[5,6]})"},
  };
  const auto found = bodies.find(path);
  if (found == bodies.end()) {
    ADD_FAILURE() << path << " has no body in post_routes.h";
    return "{}";
  }
  return found->second;
}

inline std::vector<std::string> PostRoutes() {
  std::vector<std::string> paths;
  for (const Route& route : Routes()) {
    if (route.plan != nullptr) paths.emplace_back(route.path);
  }
  EXPECT_GE(paths.size(), 14u);
  return paths;
}

// The tokenizer is tiny-bert's; the values are made up, and the same for the same request.
class EveryRoute : public Loopback {
 public:
  explicit EveryRoute(HttpOptions http = {})
      : Loopback(
            "tiny-bert",
            [](TestOptions& options) {
              options.synthetic = "vocab=272,max_row_tokens=64,max_batch_tokens=256";
            },
            State::kOpen, std::move(http)) {
    for (const std::string& path : PostRoutes()) {
      HttpClient client(port());
      const HttpAnswer answer = client.Post(path, GoodBody(path), kTestIdHeader);
      EXPECT_EQ(answer.status, 200) << path << answer.body;
      good_[path] = answer.body;
    }
  }
  // That it is served as ever, on this connection or on a new one.
  void ExpectGood(HttpClient& client, const std::string& path) {
    const HttpAnswer answer = client.Post(path, GoodBody(path), kTestIdHeader);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    EXPECT_EQ(answer.body, good_[path]);
  }
  void ExpectGood(const std::string& path) {
    HttpClient client(port());
    ExpectGood(client, path);
  }
  const std::string& good(const std::string& path) { return good_[path]; }

 private:
  std::map<std::string, std::string> good_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_POST_ROUTES_H_
