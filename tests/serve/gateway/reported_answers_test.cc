// Public bug reports against servers like this one, the right behaviour each: what is in an answer. As
// reported_lengths_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "serve/gateway/vectors.h"
#include "tests/serve/gateway/http_client.h"
#include "tests/serve/gateway/loopback.h"
#include "tests/serve/gateway/mirror_model.h"
#include "tests/serve/gateway/real_model.h"

namespace trellis::gateway {
namespace {

double CosineOf(const std::vector<float>& a, const std::vector<float>& b) {
  const double dot = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  return dot / std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0) *
                         std::inner_product(b.begin(), b.end(), b.begin(), 0.0));
}

// ollama#6187, #6262; llama.cpp#26282; text-embeddings-inference#642, #648: vectors moved with what else was
// in the batch. Their models are replaced by one of a layer that takes rows as long.
TEST(ReportedAnswers, B4AListIsAsItsTextsAlone) {
  Loopback loopback("tiny-long");
  std::vector<std::string> texts;
  for (const size_t words : {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 300, 7, 299, 1, 16, 64})
    texts.push_back(Times(words, "water the small model", " "));
  std::vector<std::vector<float>> alone;
  for (const std::string& text : texts)
    alone.push_back(Json(loopback.tiny().Post("/embed", "{\"inputs\":" + text + "}").body).Floats("/0"));
  std::string body = "{\"inputs\":[";
  for (size_t i = 0; i < texts.size(); ++i) absl::StrAppend(&body, i == 0 ? "" : ",", texts[i]);
  body += "]}";
  // At once, so that rows of several lists and of lone texts meet in batches.
  std::vector<std::thread> clients;
  for (size_t c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      HttpClient client(loopback.port());
      for (size_t turn = 0; turn < 3; ++turn) {
        const Json json(client.Post("/embed", body).body);
        ASSERT_EQ(json.Size(""), texts.size());
        for (size_t i = 0; i < texts.size(); ++i)
          EXPECT_GT(CosineOf(json.Floats(absl::StrCat("/", i)), alone[i]), 0.9999) << "text " << i;
        const size_t one = (c + turn) % texts.size();
        const Json lone(client.Post("/embed", "{\"inputs\":" + texts[one] + "}").body);
        EXPECT_GT(CosineOf(lone.Floats("/0"), alone[one]), 0.9999);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

// text-embeddings-inference#133, #138, #365, #413; dify#6807: a panic, and later 413, which reads as a body
// too large.
TEST(ReportedAnswers, B10EmptyListsAndTexts) {
  RecordedGateway recorded;
  ExpectTeiError(recorded.Post("/rerank", R"({"query":"q","texts":[]})"), 400, "Empty");
  ExpectTeiError(recorded.Post("/rerank", R"({"query":"q","documents":[]})"), 400, "Empty");
  ExpectOpenAiError(recorded.Post("/v1/embeddings", R"({"input":[]})"), 400, "invalid_request_error",
                    "empty_input");
  ExpectOpenAiError(recorded.Post("/v1/embeddings", R"({"input":""})"), 400, "invalid_request_error",
                    "empty_input");
  for (const char* path : {"/embed", "/embed_all", "/embed_sparse"}) {
    const HttpResponse second = recorded.Post(path, R"({"inputs":["a",""]})");
    ExpectTeiError(second, 400, "Empty");
    EXPECT_NE(second.body.find("inputs[1]"), std::string::npos) << second.body;
  }
  ExpectTeiError(recorded.Post("/similarity", R"({"inputs":{"source_sentence":"","sentences":["a"]}})"), 400,
                 "Empty");
  const HttpResponse sentence =
      recorded.Post("/similarity", R"({"inputs":{"source_sentence":"a","sentences":["b",""]}})");
  ExpectTeiError(sentence, 400, "Empty");
  EXPECT_NE(sentence.body.find("sentences[1]"), std::string::npos) << sentence.body;
  EXPECT_TRUE(recorded.TakeRows().empty());
}

// vllm#6744, litellm#42421: numbers of 8 bytes, or a quarter of the width.
TEST(ReportedAnswers, B12Base64IsFourBytesANumber) {
  RecordedGateway recorded(512, [](TestOptions&) {});
  const auto embedding = [&](const char* format) {
    return recorded.Post("/v1/embeddings", absl::StrCat(R"({"input":"Hello world")", format, "}")).body;
  };
  const std::vector<float> floats =
      Json(embedding(R"(,"encoding_format":"float")")).Floats("/data/0/embedding");
  ASSERT_EQ(floats.size(), 8u);
  EXPECT_EQ(Json(embedding("")).Floats("/data/0/embedding"), floats) << "the default";
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(
      Json(embedding(R"(,"encoding_format":"base64")")).Text("/data/0/embedding"), &bytes));
  ASSERT_EQ(bytes.size(), 4 * floats.size());
  for (size_t i = 0; i < floats.size(); ++i) {
    uint32_t bits = 0, expected = 0;  // little-endian, spelled out
    for (size_t b = 0; b < 4; ++b) bits |= uint32_t{static_cast<uint8_t>(bytes[4 * i + b])} << (8 * b);
    std::memcpy(&expected, &floats[i], sizeof(expected));
    EXPECT_EQ(bits, expected) << i;
  }
  ExpectOpenAiError(recorded.Post("/v1/embeddings", R"({"input":"a","encoding_format":"md5"})"), 400,
                    "invalid_request_error", "invalid_value");
}

// llama_index#20597, redisvl#693: clients took the n-th result for the n-th document.
TEST(ReportedAnswers, B14ResultsSayWhichDocumentTheyAre) {
  RecordedGateway recorded;
  const std::vector<std::string> documents = {"I want some fruit", "water", "A llama in the garden",
                                              "Hello world", "water"};
  std::string list;
  for (const std::string& document : documents)
    absl::StrAppend(&list, list.empty() ? "[" : ",", Quote(document));
  list += "]";
  // The scores that they have, from one request each.
  std::vector<float> scores;
  for (const std::string& document : documents) {
    scores.push_back(
        Json(recorded.Post("/v1/rerank", "{\"query\":\"q\",\"documents\":[" + Quote(document) + "]}").body)
            .Float("/results/0/relevance_score"));
  }
  std::vector<int64_t> expected = {0, 1, 2, 3, 4};
  std::stable_sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  ASSERT_EQ(scores[1], scores[4]);
  for (const auto& [top, results] : {std::pair{"null", 5}, {"99", 5}, {"5", 5}, {"2", 2}, {"1", 1}}) {
    const Json json(
        recorded
            .Post("/v1/rerank", absl::StrCat(R"({"query":"q","return_documents":true,"documents":)", list,
                                             ",\"top_n\":", top, "}"))
            .body);
    ASSERT_EQ(json.Size("/results"), static_cast<size_t>(results)) << top;
    for (int i = 0; i < results; ++i) {
      const std::string at = absl::StrCat("/results/", i);
      const int64_t index = json.Integer(at + "/index");
      EXPECT_EQ(index, expected[static_cast<size_t>(i)]) << "ties: the lower index first";
      EXPECT_EQ(json.Float(at + "/relevance_score"), scores[static_cast<size_t>(index)]);
      EXPECT_EQ(json.Text(at + "/document/text"), documents[static_cast<size_t>(index)]);
    }
  }
  ExpectOpenAiError(recorded.Post("/v1/rerank", R"({"query":"q","documents":["a"],"top_n":0})"), 400,
                    "invalid_request_error", "invalid_value");
  const Json tei(
      recorded.Post("/rerank", "{\"query\":\"q\",\"return_text\":true,\"texts\":" + list + "}").body);
  for (size_t i = 0; i < 5; ++i) {
    const int64_t index = tei.Integer(absl::StrCat("/", i, "/index"));
    EXPECT_EQ(index, expected[i]);
    EXPECT_EQ(tei.Text(absl::StrCat("/", i, "/text")), documents[static_cast<size_t>(index)]);
  }
}

// Seen in text-embeddings-inference's source: the entry of largest magnitude was subtracted, not the largest.
TEST(ReportedAnswers, SharesOfFarApartLogitsAreFinite) {
  for (const std::vector<float>& logits :
       {std::vector<float>{-200, 10}, {10, -200}, {-200, -200}, {3e38f, -3e38f}}) {
    const std::vector<float> shares = Softmax(logits);
    EXPECT_NEAR(shares[0] + shares[1], 1, 1e-6);
    EXPECT_EQ(shares[0] > 0.9f, logits[0] > logits[1]);
  }
}

// Seen there too: a vector of zeros was divided by its length. sentence-transformers leaves it as it is.
TEST(ReportedAnswers, AVectorOfZerosStaysOne) {
  const MirrorModel model(514, "xlm-roberta", MirrorModel::Weights::kZero);
  TinyGateway gateway(model.path());
  gateway.Open();
  const std::vector<float> zeros(8);
  EXPECT_EQ(Json(gateway.Post("/embed", R"({"inputs":"a"})").body).Floats("/0"), zeros);
  EXPECT_EQ(Json(gateway.Post("/embed", R"({"inputs":"a","dimensions":3})").body).Floats("/0"),
            std::vector<float>(3));
  EXPECT_EQ(gateway.Post("/similarity", R"({"inputs":{"source_sentence":"a","sentences":["b"]}})").body,
            "[0]");
  EXPECT_EQ(Json(gateway.Post("/v1/score", R"({"text_1":"a","text_2":"b"})").body).Float("/data/0/score"),
            0.f);
}

// Seen there too: each text of a list took a place of its own, and a list of 32 needed 32 at once.
TEST(ReportedAnswers, AListTakesOnePlace) {
  TinyGateway gateway("tiny-bert", [](TestOptions& options) {
    options.synthetic = "vocab=272,max_row_tokens=64";
    options.gateway.max_concurrent_requests = 1;
  });
  gateway.Open();
  std::string list = "[\"a\"";
  for (int i = 1; i < 2048; ++i) list += ",\"a\"";
  EXPECT_EQ(gateway.Post("/embed", "{\"inputs\":" + list + "]}").status, 200);
  ExpectTeiError(gateway.Post("/embed", "{\"inputs\":" + list + ",\"a\"]}"), 422, "Validation");
}

}  // namespace
}  // namespace trellis::gateway
