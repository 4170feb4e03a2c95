// /openapi.json says what the routes do: every route with its method, every field that is described is read
// and checked, and every reference leads somewhere. Answers are held against it by clients/openapi_test.py.
#include "serve/gateway/openapi.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/serve/gateway/gateway_fixture.h"

namespace trellis::gateway {
namespace {

class OpenApi : public ::testing::Test {
 protected:
  OpenApi() {
    tiny_.Open();
    sparse_.Open();
    reranker_.Open();
    classifier_.Open();
  }
  TinyGateway& For(const std::string& path) {
    if (path.find("rerank") != std::string::npos || path.find("score") != std::string::npos) return reranker_;
    if (path == "/predict") return classifier_;
    return path == "/embed" || path == "/embed_sparse" || path == "/embed_all" ? sparse_ : tiny_;
  }
  // "#/components/schemas/Name" as a JSON pointer.
  std::string Referred(const std::string& at) { return api_.Text(at + "/$ref").substr(1); }
  std::vector<std::string> Keys(const std::string& at) {
    std::vector<std::string> keys;
    for (const auto field : simdjson::dom::object(api_.At(at))) keys.emplace_back(field.key);
    return keys;
  }

  TinyGateway tiny_{"tiny-bert"}, sparse_{"tiny-m3"}, reranker_{"tiny-reranker"},
      classifier_{"tiny-bert-classifier"};
  Json api_{tiny_.Get("/openapi.json").body};
};

std::string Escaped(std::string path) {
  for (size_t at = 0; (at = path.find('/', at)) != std::string::npos; at += 2) path.replace(at, 1, "~1");
  return path;
}

TEST_F(OpenApi, HasEveryRouteWithItsMethod) {
  EXPECT_EQ(api_.Text("/openapi"), "3.1.0");
  EXPECT_EQ(Keys("/paths").size(), Routes().size());
  for (const Route& route : Routes()) {
    const bool post = std::string(route.method) == "POST";
    const std::string at = "/paths/" + Escaped(route.path) + (post ? "/post" : "/get");
    ASSERT_TRUE(api_.Has(at)) << at;
    EXPECT_EQ(Keys("/paths/" + Escaped(route.path)).size(), 1u) << route.path;
    EXPECT_EQ(api_.Text(at + "/summary"), route.what);
    EXPECT_EQ(api_.Has(at + "/security"), route.key == Key::kNeeded) << at;
    EXPECT_EQ(api_.Has(at + "/requestBody"), post) << at;
    EXPECT_TRUE(api_.Has(at + "/responses/200/content")) << at;
    EXPECT_TRUE(api_.Has(Referred(at + "/responses/default/content/application~1json/schema"))) << at;
  }
}

// All of them, wherever they stand.
void CollectReferences(simdjson::dom::element element, std::set<std::string>& references) {
  if (element.is_array()) {
    for (const auto item : simdjson::dom::array(element)) CollectReferences(item, references);
  } else if (element.is_object()) {
    for (const auto field : simdjson::dom::object(element)) {
      if (field.key == "$ref") references.emplace(std::string_view(field.value));
      CollectReferences(field.value, references);
    }
  }
}

TEST_F(OpenApi, ReferencesLeadSomewhereAndNothingIsLeftOver) {
  std::set<std::string> references;
  CollectReferences(api_.At(""), references);
  for (const std::string& reference : references) EXPECT_TRUE(api_.Has(reference.substr(1))) << reference;
  EXPECT_EQ(references.size(), Keys("/components/schemas").size());
}

// Bodies that are right; together they use every field that a description requires.
std::vector<std::string> RightBodies(const std::string& path) {
  if (path == "/v1/embeddings" || path == "/embeddings") return {R"({"input":"water")"};
  if (path == "/v1/rerank" || path == "/v2/rerank") return {R"({"query":"a","documents":["water"])"};
  if (path == "/rerank")
    return {R"({"query":"a","texts":["water"])", R"({"query":"a","documents":["water"])"};
  if (path == "/v1/score" || path == "/score")
    return {R"({"text_1":"a","text_2":["water"])", R"({"queries":"a","documents":["water"])"};
  if (path == "/similarity") return {R"({"inputs":{"source_sentence":"a","sentences":["water"]})"};
  if (path == "/decode") return {R"({"ids":[5,6])"};
  return {R"({"inputs":"water")"};
}

TEST_F(OpenApi, EveryFieldThatIsDescribedIsRead) {
  for (const Route& route : Routes()) {
    if (route.plan == nullptr) continue;
    TinyGateway& gateway = For(route.path);
    std::vector<std::string> schemas = {
        Referred("/paths/" + Escaped(route.path) + "/post/requestBody/content/application~1json/schema")};
    if (api_.Has(schemas[0] + "/anyOf"))
      schemas = {Referred(schemas[0] + "/anyOf/0"), Referred(schemas[0] + "/anyOf/1")};
    std::vector<std::string> bodies = RightBodies(route.path);
    for (const std::string& body : bodies)
      ASSERT_EQ(gateway.Post(route.path, body + "}").status, 200) << route.path << ' ' << body;
    size_t fields = 0;
    for (size_t s = 0; s < schemas.size(); ++s) {
      for (const std::string& field : Keys(schemas[s] + "/properties")) {
        ++fields;
        const std::string where = std::string(route.path) + ' ' + field;
        bool named = false;
        for (const std::string& body : bodies) {
          // Of a key that comes twice the last counts, and no field is a list of booleans.
          const HttpResponse wrong = gateway.Post(route.path, body + ",\"" + field + "\":[true]}");
          const std::string place = '`' + field;
          named |= wrong.status != 200 && wrong.body.find(place) != std::string::npos;
        }
        EXPECT_TRUE(named) << where << " is described and nobody looks at it";
        const std::string required = schemas[s] + "/required";
        bool needed = false;
        for (const auto name : simdjson::dom::array(api_.At(required)))
          needed |= std::string_view(name) == field;
        const std::string& body = bodies[std::min(s, bodies.size() - 1)];
        const int status = gateway.Post(route.path, body + ",\"" + field + "\":null}").status;
        if (route.request != std::string("ScoreRequest")) {  // there one pair of names of two is
          EXPECT_EQ(status == 200, !needed) << where << ": null";
        }
      }
    }
    EXPECT_GE(fields, 2u) << route.path;
  }
}

TEST_F(OpenApi, TheFieldsWithinSimilaritysObjectsAreReadToo) {
  const std::string inputs = R"({"source_sentence":"a","sentences":["water"])";
  for (const std::string& field : Keys("/components/schemas/SimilarityInputs/properties")) {
    const HttpResponse wrong =
        tiny_.Post("/similarity", "{\"inputs\":" + inputs + ",\"" + field + "\":[true]}}");
    EXPECT_EQ(wrong.status, 422) << field;
    EXPECT_NE(wrong.body.find('`' + field), std::string::npos) << wrong.body;
  }
  for (const std::string& field : Keys("/components/schemas/SimilarityParameters/properties")) {
    const HttpResponse wrong =
        tiny_.Post("/similarity", "{\"inputs\":" + inputs + "},\"parameters\":{\"" + field + "\":[true]}}");
    EXPECT_EQ(wrong.status, 422) << field;
    EXPECT_NE(wrong.body.find('`' + field), std::string::npos) << wrong.body;
  }
}

}  // namespace
}  // namespace trellis::gateway
