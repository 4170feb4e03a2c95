// Text-embeddings-inference's routes against the reference, and with models that do not have them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/reference_texts.h"

namespace trellis::gateway {
namespace {

std::string IdList(const std::vector<int32_t>& ids) {
  std::string list;
  for (const int32_t id : ids) absl::StrAppend(&list, list.empty() ? "[" : ",", id);
  return list + "]";
}

TEST(TeiEmbed, IsAsTheReferenceSays) {
  TinyGateway tiny("tiny-xlm-roberta-dense");
  tiny.Open();
  std::string list;
  std::vector<ReferenceText> texts = ReferenceTexts("tiny-xlm-roberta-dense");
  std::erase_if(texts, [](const ReferenceText& text) { return text.text.empty(); });
  for (const ReferenceText& text : texts) absl::StrAppend(&list, list.empty() ? "[" : ",", Quote(text.text));
  const HttpResponse response = tiny.Post("/embed", "{\"inputs\":" + list + "]}");
  ASSERT_EQ(response.status, 200) << response.body;
  const Json json(response.body);
  ASSERT_EQ(json.Size(""), texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    ExpectNear(json.Floats(absl::StrCat("/", i)), texts[i].embedding, texts[i].text);
  // A lone string is a list too.
  EXPECT_EQ(Json(tiny.Post("/embed", R"({"inputs":"a"})").body).Size(""), 1u);
}

TEST(TeiEmbed, TellsWhatItCost) {
  TinyGateway tiny("tiny-bert");
  const HttpResponse response = tiny.Open().Post("/embed", "{\"inputs\":[\"日本\",\"a\"]}");
  EXPECT_EQ(Header(response, "x-compute-characters"), "3");
  EXPECT_EQ(Header(response, "x-compute-tokens"), "8");
  EXPECT_EQ(Header(response, "x-compute-type"), "cpu");
  for (const char* name :
       {"x-compute-time", "x-total-time", "x-tokenization-time", "x-queue-time", "x-inference-time"})
    EXPECT_FALSE(Header(response, name).empty()) << name;
}

TEST(TeiEmbed, NormalizesUnlessToldOtherwise) {
  TinyGateway tiny("tiny-xlm-roberta-last");  // its folder does not normalize
  tiny.Open();
  const auto length = [&](const char* extra) {
    double sum = 0;
    for (const float value :
         Json(tiny.Post("/embed", absl::StrCat(R"({"inputs":"water")", extra, "}")).body).Floats("/0"))
      sum += double{value} * value;
    return std::sqrt(sum);
  };
  EXPECT_NEAR(length(""), 1, 1e-6);
  EXPECT_NEAR(length(",\"normalize\":true"), 1, 1e-6);
  EXPECT_GT(std::abs(length(",\"normalize\":false") - 1), 1e-3);
}

TEST(TeiEmbed, CutsFromTheSideThatIsAsked) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  std::string begin, end;
  for (int i = 0; i < 100; ++i) begin += "water ", end += "model ";
  const std::string text = begin + end;
  const auto vector = [&](const std::string& of, const char* extra) {
    return Json(tiny.Post("/embed", "{\"inputs\":" + Quote(of) + extra + "}").body).Floats("/0");
  };
  EXPECT_EQ(vector(text, ""), vector(begin, ""));
  EXPECT_EQ(vector(text, ",\"truncation_direction\":\"Right\""), vector(begin, ""));
  EXPECT_EQ(vector(text, ",\"truncation_direction\":\"Left\""),
            vector(end, ",\"truncation_direction\":\"left\""));
  EXPECT_NE(vector(text, ",\"truncation_direction\":\"left\""), vector(begin, ""));
}

TEST(TeiErrors, HaveTeisStatusesAndNames) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.policy.max_client_batch = 2; });
  tiny.Open();
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "water ";
  ExpectTeiError(tiny.Post("/embed", "{"), 400, "Validation");
  ExpectTeiError(tiny.Post("/embed", "{\"inputs\":\"\xc3\"}"), 400, "Validation");
  ExpectTeiError(tiny.Post("/embed", "{}"), 400, "Validation");
  ExpectTeiError(tiny.Post("/embed", R"({"inputs":[]})"), 400, "Empty");
  ExpectTeiError(tiny.Post("/embed", R"({"inputs":["a",""]})"), 400, "Empty");
  ExpectTeiError(tiny.Post("/embed", R"({"inputs":5})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/embed", R"({"inputs":["a","a","a"]})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/embed", R"({"inputs":"a","dimensions":0})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/embed", "{\"truncate\":false,\"inputs\":" + Quote(longest) + "}"), 422,
                 "Validation");
  ExpectTeiError(tiny.Post("/embed_sparse", R"({"inputs":"a"})"), 424, "Backend");
  ExpectTeiError(tiny.Post("/predict", R"({"inputs":"a"})"), 424, "Backend");
  ExpectTeiError(tiny.Post("/rerank", R"({"query":"a","texts":["b"]})"), 424, "Backend");
  TinyGateway reranker("tiny-reranker");
  reranker.Open();
  for (const char* path : {"/embed", "/embed_all", "/embed_sparse"})
    ExpectTeiError(reranker.Post(path, R"({"inputs":"a"})"), 424, "Backend");
  ExpectTeiError(reranker.Post("/similarity", R"({"inputs":{"source_sentence":"a","sentences":["b"]}})"), 424,
                 "Backend");
}

TEST(TeiEmbedAll, GivesAVectorAToken) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  size_t compared = 0;
  for (const testing::ReferenceRow& row : testing::ReferenceRows("tiny-bert")) {
    const bool typed =
        std::any_of(row.type_ids.begin(), row.type_ids.end(), [](int32_t id) { return id != 0; });
    if (!row.answers.contains("hidden") || typed) continue;  // clients' token ids have no types
    ++compared;
    const HttpResponse response =
        tiny.Post("/embed_all", "{\"add_special_tokens\":false,\"inputs\":" + IdList(row.ids) + "}");
    ASSERT_EQ(response.status, 200) << response.body;
    const Json json(response.body);
    ASSERT_EQ(json.Size("/0"), row.ids.size());
    std::vector<float> all;
    testing::AppendFlat(json.At("/0"), all);
    ExpectNear(all, row.answers.at("hidden"), IdList(row.ids));
  }
  EXPECT_GE(compared, 8u);
}

TEST(TeiEmbedAll, OfATokenHeadIsOfUnitLength) {
  TinyGateway tiny("tiny-m3");
  tiny.Open();
  size_t compared = 0;
  for (const testing::ReferenceRow& row : testing::ReferenceRows("tiny-m3")) {
    if (!row.answers.contains("colbert")) continue;
    ++compared;
    const Json json(
        tiny.Post("/embed_all", "{\"add_special_tokens\":false,\"inputs\":" + IdList(row.ids) + "}").body);
    std::vector<float> all;
    testing::AppendFlat(json.At("/0"), all);
    const std::vector<float>& expected = row.answers.at("colbert");  // of all tokens but the first
    ASSERT_EQ(all.size(), expected.size() + 32);
    ExpectNear({all.begin() + 32, all.end()}, expected, IdList(row.ids));
  }
  EXPECT_GE(compared, 8u);
}

TEST(TeiEmbedSparse, GivesTheWeightsOfTokens) {
  TinyGateway tiny("tiny-m3");
  tiny.Open();
  size_t weights = 0;
  for (const testing::ReferenceRow& row : testing::ReferenceRows("tiny-m3")) {
    const Json json(
        tiny.Post("/embed_sparse", "{\"add_special_tokens\":false,\"inputs\":" + IdList(row.ids) + "}").body);
    ASSERT_EQ(json.Size("/0"), row.sparse_ids.size()) << IdList(row.ids);
    for (size_t i = 0; i < row.sparse_ids.size(); ++i, ++weights) {
      EXPECT_EQ(json.Integer(absl::StrCat("/0/", i, "/index")), row.sparse_ids[i]);
      EXPECT_NEAR(json.Float(absl::StrCat("/0/", i, "/value")), row.answers.at("sparse")[i], 1e-5f);
    }
  }
  EXPECT_GT(weights, 10u);
}

TEST(TeiSimilarity, IsTheCosineOfTheVectors) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  std::vector<ReferenceText> texts = ReferenceTexts("tiny-bert");
  std::erase_if(texts,
                [](const ReferenceText& text) { return text.text.empty() || !text.prompt_name.empty(); });
  ASSERT_GE(texts.size(), 2u);
  const HttpResponse response = tiny.Post(
      "/similarity", "{\"inputs\":{\"source_sentence\":" + Quote(texts[0].text) + ",\"sentences\":[" +
                         Quote(texts[1].text) + "," + Quote(texts[0].text) + "]}}");
  ASSERT_EQ(response.status, 200) << response.body;
  double cosine = 0;  // the reference's vectors have unit length
  for (size_t i = 0; i < texts[0].embedding.size(); ++i)
    cosine += double{texts[0].embedding[i]} * texts[1].embedding[i];
  ExpectNear(Json(response.body).Floats(""), {static_cast<float>(cosine), 1.f}, "cosines");
  ExpectTeiError(tiny.Post("/similarity", R"({"inputs":"a"})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/similarity", R"({"inputs":{"sentences":["a"]}})"), 400, "Validation");
  ExpectTeiError(tiny.Post("/similarity", R"({"inputs":{"source_sentence":"a","sentences":[]}})"), 400,
                 "Empty");
  ExpectTeiError(
      tiny.Post("/similarity",
                R"({"inputs":{"source_sentence":"a","sentences":["a"]},"parameters":{"truncate":1}})"),
      422, "Validation");
}

TEST(TeiPredict, ClassifiesTextsAndPairs) {
  TinyGateway tiny("tiny-bert-classifier");
  tiny.Open();
  const std::vector<std::string> names = {"contradiction", "entailment", "neutral"};
  for (const ReferencePair& pair : ReferencePairs("tiny-bert-classifier")) {
    const std::string inputs = "[" + Quote(pair.query) + "," + Quote(pair.document) + "]";
    const Json raw(tiny.Post("/predict", "{\"raw_scores\":true,\"inputs\":" + inputs + "}").body);
    const Json shares(tiny.Post("/predict", "{\"inputs\":[" + inputs + "]}").body);
    double sum = 0;
    for (const float logit : pair.logits) sum += std::exp(logit);
    ASSERT_EQ(raw.Size(""), 3u);
    ASSERT_EQ(shares.Size("/0"), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const std::string label = raw.Text(absl::StrCat("/", i, "/label"));
      const size_t at = static_cast<size_t>(std::find(names.begin(), names.end(), label) - names.begin());
      ASSERT_LT(at, 3u) << label;
      EXPECT_NEAR(raw.Float(absl::StrCat("/", i, "/score")), pair.logits[at], 1e-5f) << pair.document;
      EXPECT_EQ(shares.Text(absl::StrCat("/0/", i, "/label")), label);
      EXPECT_NEAR(shares.Float(absl::StrCat("/0/", i, "/score")), std::exp(pair.logits[at]) / sum, 1e-5);
      if (i > 0) {
        EXPECT_GE(raw.Float(absl::StrCat("/", i - 1, "/score")), raw.Float(absl::StrCat("/", i, "/score")));
      }
    }
  }
  EXPECT_EQ(Json(tiny.Post("/predict", R"({"inputs":"water"})").body).Size(""), 3u);
  EXPECT_EQ(Json(tiny.Post("/predict", R"({"inputs":[["water"],["a","b"]]})").body).Size(""), 2u);
  ExpectTeiError(tiny.Post("/predict", R"({"inputs":["a","b","c"]})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/predict", R"({"inputs":[["a"],[]]})"), 400, "Empty");
  ExpectTeiError(tiny.Post("/predict", R"({"inputs":[["a"],"b"]})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/rerank", R"({"query":"a","texts":["b"]})"), 424,
                 "Backend");  // three labels rank nothing
}

TEST(TeiTokenize, GivesByteOffsetsIntoPromptAndText) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const std::string text = "the small 日本";
  for (const auto& [prompt, extra] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"query: ", ",\"prompt_name\":\"query\""}}) {
    const Json json(tiny.Post("/tokenize", "{\"inputs\":" + Quote(text) + extra + "}").body);
    const size_t tokens = json.Size("/0");
    ASSERT_GT(tokens, 4u);
    EXPECT_EQ(json.Text("/0/0/text"), "<s>");
    EXPECT_TRUE(json.At("/0/0/special").get_bool().value());
    EXPECT_TRUE(json.At("/0/0/start").is_null());
    EXPECT_TRUE(json.At("/0/0/stop").is_null());
    const std::string all = prompt + text;
    int64_t last = 0;
    for (size_t t = 1; t + 1 < tokens; ++t) {
      const std::string at = absl::StrCat("/0/", t);
      const int64_t start = json.Integer(at + "/start"), stop = json.Integer(at + "/stop");
      EXPECT_EQ(json.Text(at + "/text"),
                all.substr(static_cast<size_t>(start), static_cast<size_t>(stop - start)));
      EXPECT_FALSE(json.At(at + "/special").get_bool().value());
      last = stop;
    }
    EXPECT_EQ(last, static_cast<int64_t>(all.size()));
  }
  const Json plain(tiny.Post("/tokenize", R"({"inputs":["a","water"],"add_special_tokens":false})").body);
  EXPECT_EQ(plain.Size(""), 2u);
  EXPECT_EQ(plain.Size("/0"), 1u);
  ExpectTeiError(tiny.Post("/tokenize", R"({"inputs":[5]})"), 422, "Validation");
}

TEST(TeiTokenize, HasTheIdsThatTheReferenceHas) {
  TinyGateway tiny("tiny-m3");
  tiny.Open();
  for (const ReferenceText& text : ReferenceTexts("tiny-m3")) {
    if (text.text.empty() || text.ids.size() == 64) continue;  // the last was cut, and /tokenize cuts nothing
    const Json json(tiny.Post("/tokenize", "{\"inputs\":" + Quote(text.text) + "}").body);
    ASSERT_EQ(json.Size("/0"), text.ids.size()) << text.text;
    for (size_t t = 0; t < text.ids.size(); ++t)
      EXPECT_EQ(json.Integer(absl::StrCat("/0/", t, "/id")), text.ids[t]) << text.text;
  }
}

TEST(TeiDecode, GivesTextsOfIds) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const std::vector<ReferenceText> texts = ReferenceTexts("tiny-bert");
  const ReferenceText& water = texts[3];
  ASSERT_EQ(water.text, "water water water");
  EXPECT_EQ(tiny.Post("/decode", "{\"ids\":" + IdList(water.ids) + "}").body, "[\"water water water\"]");
  EXPECT_EQ(tiny.Post("/decode", "{\"ids\":[" + IdList(water.ids) + "," + IdList(water.ids) + "]}").body,
            "[\"water water water\",\"water water water\"]");
  EXPECT_NE(tiny.Post("/decode", "{\"skip_special_tokens\":false,\"ids\":" + IdList(water.ids) + "}")
                .body.find("<s>"),
            std::string::npos);
  ExpectTeiError(tiny.Post("/decode", R"({"ids":[-1]})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/decode", R"({"ids":[999999]})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/decode", R"({"ids":"a"})"), 422, "Validation");
  ExpectTeiError(tiny.Post("/decode", R"({"ids":[]})"), 400, "Empty");
}

}  // namespace
}  // namespace trellis::gateway
