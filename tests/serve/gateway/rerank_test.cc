// Rerank in its three dialects and score, against the reference's logits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/reference_texts.h"

namespace trellis::gateway {
namespace {

float Shown(float logit) { return static_cast<float>(1 / (1 + std::exp(-double{logit}))); }

// One query with documents of which the reference knows two.
constexpr const char* kQuery = "who can find water";
std::vector<ReferencePair> Known() {
  std::vector<ReferencePair> pairs = ReferencePairs("tiny-reranker");
  std::erase_if(pairs, [](const ReferencePair& pair) { return pair.query != kQuery; });
  return pairs;
}

std::string Documents(const std::vector<ReferencePair>& pairs) {
  std::string list;
  for (const ReferencePair& pair : pairs)
    absl::StrAppend(&list, list.empty() ? "[" : ",", Quote(pair.document));
  return list + "]";
}

TEST(Rerank, TeiScoresAreAsTheReferenceSays) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  for (const ReferencePair& pair : ReferencePairs("tiny-reranker")) {
    const std::string body = "\"query\":" + Quote(pair.query) + ",\"texts\":[" + Quote(pair.document) + "]}";
    const HttpResponse raw = tiny.Post("/rerank", "{\"raw_scores\":true," + body);
    ASSERT_EQ(raw.status, 200) << raw.body;
    EXPECT_NEAR(Json(raw.body).Float("/0/score"), pair.logits[0], 1e-5f)
        << pair.query << " | " << pair.document;
    EXPECT_EQ(Header(raw, "x-compute-tokens"), absl::StrCat(pair.ids.size()));
    EXPECT_NEAR(Json(tiny.Post("/rerank", "{" + body).body).Float("/0/score"), Shown(pair.logits[0]), 1e-5f);
  }
}

TEST(Rerank, TheBestComesFirstWithItsPlaceAndText) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  const std::vector<ReferencePair> known = Known();
  ASSERT_EQ(known.size(), 2u);
  ASSERT_LT(known[0].logits[0], known[1].logits[0]);
  const Json json(tiny.Post("/rerank", absl::StrCat("{\"return_text\":true,\"query\":", Quote(kQuery),
                                                    ",\"texts\":", Documents(known), "}"))
                      .body);
  ASSERT_EQ(json.Size(""), 2u);
  EXPECT_EQ(json.Integer("/0/index"), 1);
  EXPECT_EQ(json.Integer("/1/index"), 0);
  EXPECT_EQ(json.Text("/0/text"), known[1].document);
  EXPECT_EQ(json.Text("/1/text"), known[0].document);
  const Json without(
      tiny.Post("/rerank", absl::StrCat("{\"query\":", Quote(kQuery), ",\"texts\":", Documents(known), "}"))
          .body);
  EXPECT_FALSE(without.Has("/0/text"));
}

TEST(Rerank, EqualOnesKeepTheirOrderAndEachComesOnce) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  const Json json(tiny.Post("/rerank", R"({"query":"water","texts":["a","no","a","a","no"]})").body);
  ASSERT_EQ(json.Size(""), 5u);
  std::vector<int64_t> places;
  float last = std::numeric_limits<float>::infinity();
  int64_t last_place = -1;
  for (int i = 0; i < 5; ++i) {
    const float score = json.Float(absl::StrCat("/", i, "/score"));
    const int64_t place = json.Integer(absl::StrCat("/", i, "/index"));
    EXPECT_LE(score, last);
    if (score == last) {
      EXPECT_GT(place, last_place) << "ties: the lower place first";
    }
    places.push_back(place);
    last = score;
    last_place = place;
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(Rerank, CohereAndJinaGetTheirObject) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  const std::vector<ReferencePair> known = Known();
  const std::string body =
      absl::StrCat("\"query\":", Quote(kQuery), ",\"documents\":[", Quote(known[0].document),
                   ",{\"text\":", Quote(known[1].document), "}]}");
  for (const char* path : {"/v1/rerank", "/v2/rerank", "/rerank"}) {
    const HttpResponse response = tiny.Post(path, "{\"return_documents\":true," + body);
    ASSERT_EQ(response.status, 200) << path << response.body;
    const Json json(response.body);
    EXPECT_EQ(json.Text("/id"), Header(response, "x-request-id"));
    EXPECT_EQ(json.Text("/object"), "list");
    EXPECT_EQ(json.Text("/model"), "tiny-reranker");
    ASSERT_EQ(json.Size("/results"), 2u);
    EXPECT_EQ(json.Integer("/results/0/index"), 1);
    EXPECT_NEAR(json.Float("/results/0/relevance_score"), Shown(known[1].logits[0]), 1e-5f);
    EXPECT_NEAR(json.Float("/results/1/relevance_score"), Shown(known[0].logits[0]), 1e-5f);
    EXPECT_EQ(json.Integer("/usage/prompt_tokens"),
              static_cast<int64_t>(known[0].ids.size() + known[1].ids.size()));
    EXPECT_EQ(json.Integer("/meta/billed_units/search_units"), 1);
    if (std::string(path) == "/v2/rerank") {
      EXPECT_EQ(json.Text("/meta/api_version/version"), "2");
      EXPECT_FALSE(json.Has("/results/0/document"));
    } else {
      EXPECT_EQ(json.Text("/meta/api_version/version"), "1");
      EXPECT_EQ(json.Text("/results/0/document/text"), known[1].document);
    }
  }
  EXPECT_FALSE(Json(tiny.Post("/v1/rerank", "{" + body).body).Has("/results/0/document"));
  const Json raw(tiny.Post("/v1/rerank", "{\"raw_scores\":true," + body).body);
  EXPECT_NEAR(raw.Float("/results/0/relevance_score"), known[1].logits[0], 1e-5f);
}

TEST(Rerank, TopN) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  const auto results = [&](const char* top) {
    return Json(tiny.Post("/v1/rerank",
                          absl::StrCat(R"({"query":"q","documents":["a","b","c"],"top_n":)", top, "}"))
                    .body)
        .Size("/results");
  };
  EXPECT_EQ(results("1"), 1u);
  EXPECT_EQ(results("3"), 3u);
  EXPECT_EQ(results("99"), 3u);
  EXPECT_EQ(results("null"), 3u);
  for (const char* top : {"0", "-1", "1.5", "\"1\""})
    EXPECT_EQ(
        tiny.Post("/v1/rerank", absl::StrCat(R"({"query":"q","documents":["a"],"top_n":)", top, "}")).status,
        400)
        << top;
  EXPECT_EQ(Json(tiny.Post("/rerank", R"({"query":"q","texts":["a","b","c"],"top_n":2})").body).Size(""), 2u);
}

TEST(Rerank, OnlyDocumentsAreCutForCohereAndNeverTheQuery) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "water ";
  const HttpResponse cut =
      tiny.Post("/v1/rerank", "{\"query\":\"a\",\"documents\":[" + Quote(longest) + "]}");
  ASSERT_EQ(cut.status, 200) << cut.body;
  EXPECT_EQ(Json(cut.body).Integer("/usage/prompt_tokens"), 64);
  const HttpResponse query =
      tiny.Post("/v1/rerank", "{\"query\":" + Quote(longest) + ",\"documents\":[\"a\"]}");
  ExpectOpenAiError(query, 400, "invalid_request_error", "context_length_exceeded");
  // text-embeddings-inference shares the room between both.
  EXPECT_EQ(tiny.Post("/rerank", "{\"query\":" + Quote(longest) + ",\"texts\":[\"a\"]}").status, 200);
  // A document's own bound: as the same document, written shorter.
  const Json bound(
      tiny.Post("/v1/rerank",
                R"({"query":"q","documents":["water water water water"],"max_tokens_per_doc":2})")
          .body);
  const Json shorter(tiny.Post("/v1/rerank", R"({"query":"q","documents":["water water"]})").body);
  EXPECT_EQ(bound.Float("/results/0/relevance_score"), shorter.Float("/results/0/relevance_score"));
  EXPECT_EQ(bound.Integer("/usage/prompt_tokens"), shorter.Integer("/usage/prompt_tokens"));
}

TEST(Rerank, WhatIsWrongIsNamed) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  ExpectTeiError(tiny.Post("/rerank", R"({"query":"q","texts":[]})"), 400, "Empty");
  ExpectTeiError(tiny.Post("/rerank", R"({"texts":["a"]})"), 400, "Validation");
  ExpectTeiError(tiny.Post("/rerank", R"({"query":"q"})"), 400, "Validation");
  ExpectTeiError(tiny.Post("/rerank", R"({"query":"q","texts":[5]})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/rerank", R"({"query":5,"texts":["a"]})"), 422, "Validation");
  ExpectOpenAiError(tiny.Post("/v1/rerank", R"({"query":"q","documents":[]})"), 400, "invalid_request_error",
                    "empty_input");
  ExpectOpenAiError(tiny.Post("/v2/rerank", R"({"query":"q","documents":[{"title":"a"}]})"), 400,
                    "invalid_request_error", "invalid_value");
  ExpectOpenAiError(tiny.Post("/v1/rerank", R"({"query":"q","documents":["a"],"model":"x"})"), 404,
                    "not_found_error", "model_not_found");
  TinyGateway embedder("tiny-bert");
  embedder.Open();
  for (const char* path : {"/v1/rerank", "/v2/rerank"})
    ExpectOpenAiError(embedder.Post(path, R"({"query":"q","documents":["a"]})"), 400, "invalid_request_error",
                      "unsupported_task");
}

TEST(Score, OfARerankerIsTheReferences) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  const std::vector<ReferencePair> known = Known();
  for (const char* path : {"/v1/score", "/score"}) {
    const HttpResponse response =
        tiny.Post(path, absl::StrCat("{\"text_1\":", Quote(kQuery), ",\"text_2\":", Documents(known), "}"));
    ASSERT_EQ(response.status, 200) << response.body;
    const Json json(response.body);
    ASSERT_EQ(json.Size("/data"), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(json.Integer(absl::StrCat("/data/", i, "/index")), static_cast<int64_t>(i));
      EXPECT_NEAR(json.Float(absl::StrCat("/data/", i, "/score")), Shown(known[i].logits[0]), 1e-5f);
    }
  }
  // Lists of one length go pair by pair.
  const std::vector<ReferencePair> all = ReferencePairs("tiny-reranker");
  std::string queries;
  for (const ReferencePair& pair : all)
    absl::StrAppend(&queries, queries.empty() ? "[" : ",", Quote(pair.query));
  const Json zip(tiny.Post("/v1/score", absl::StrCat("{\"raw_scores\":true,\"queries\":", queries,
                                                     "],\"documents\":", Documents(all), "}"))
                     .body);
  ASSERT_EQ(zip.Size("/data"), all.size());
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_NEAR(zip.Float(absl::StrCat("/data/", i, "/score")), all[i].logits[0], 1e-5f) << i;
}

TEST(Score, OfAnEmbedderIsTheCosine) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const Json score(tiny.Post("/v1/score", R"({"text_1":"water","text_2":["a","water"]})").body);
  const Json cosines(
      tiny.Post("/similarity", R"({"inputs":{"source_sentence":"water","sentences":["a","water"]}})").body);
  EXPECT_EQ(score.Float("/data/0/score"), cosines.Floats("")[0]);
  EXPECT_EQ(score.Float("/data/1/score"), cosines.Floats("")[1]);
  ExpectOpenAiError(tiny.Post("/v1/score", R"({"text_1":["a","b"],"text_2":["a","b","c"]})"), 400,
                    "invalid_request_error", "invalid_value");
  ExpectOpenAiError(tiny.Post("/v1/score", R"({"text_1":"a"})"), 400, "invalid_request_error",
                    "invalid_value");
  ExpectOpenAiError(tiny.Post("/v1/score", R"({"text_1":"a","text_2":["b",""]})"), 400,
                    "invalid_request_error", "empty_input");
  TinyGateway classifier("tiny-bert-classifier");
  ExpectOpenAiError(classifier.Open().Post("/v1/score", R"({"text_1":"a","text_2":"b"})"), 400,
                    "invalid_request_error", "unsupported_task");
}

// Vectors of two fields are one list of rows; messages say where the client wrote the text.
TEST(Score, WhatIsTooLongIsNamedByItsOwnField) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "water ";
  const auto refused = [&](const char* path, const std::string& body) {
    const HttpResponse response = tiny.Post(path, body);
    EXPECT_NE(response.status, 200);
    return response.body;
  };
  const std::string two = "[\"a\"," + Quote(longest) + "]", strict = "{\"truncate\":false,";
  EXPECT_NE(refused("/v1/score", strict + R"("text_1":["a","b"],"text_2":)" + two + "}").find("text_2[1]"),
            std::string::npos);
  EXPECT_NE(refused("/v1/score", strict + R"("text_2":["a","b"],"text_1":)" + two + "}").find("text_1[1]"),
            std::string::npos);
  const std::string strictly = "},\"parameters\":{\"truncate\":false}}";
  EXPECT_NE(refused("/similarity", R"({"inputs":{"source_sentence":"a","sentences":)" + two + strictly)
                .find("`sentences[1]`"),
            std::string::npos);
  EXPECT_NE(
      refused("/similarity", R"({"inputs":{"sentences":["a"],"source_sentence":)" + Quote(longest) + strictly)
          .find("`source_sentence`"),
      std::string::npos);
}

}  // namespace
}  // namespace trellis::gateway
