// Each method of tei.v1 against the references and against HTTP's routes, and with models that do not have
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/grpc_tei_fixture.h"
#include "tests/serve/gateway/reference_texts.h"

namespace trellis::gateway {
namespace {

using grpc::StatusCode;
using tei::v1::Embed;
using tei::v1::Predict;
using tei::v1::Rerank;
using tei::v1::Tokenize;

const std::string kLong = Repeated("water ", 100);  // tiny models take 64 tokens

TEST(GrpcInfo, IsWhatHttpTells) {
  TinyGrpc tiny("tiny-bert", [](TestOptions& options) {
    options.gateway.names = {"mine"};
    options.gateway.facts.version = "1.2.3";
    options.gateway.facts.dtype = "f32";
    options.gateway.facts.max_concurrent_requests = 7;
    options.gateway.facts.tokenization_workers = 2;
  });
  ExpectStatus(Ask(*tiny.tell, &tei::v1::Info::Stub::Info, tei::v1::InfoRequest()).status,
               StatusCode::UNAVAILABLE, "loaded");
  tiny.Open();
  const auto told = Ask(*tiny.tell, &tei::v1::Info::Stub::Info, tei::v1::InfoRequest());
  ASSERT_TRUE(told.status.ok()) << told.status.error_message();
  const tei::v1::InfoResponse& answer = told.answer;
  EXPECT_EQ(answer.version(), "1.2.3");
  EXPECT_EQ(answer.model_id(), "mine");
  EXPECT_EQ(answer.model_dtype(), "f32");
  EXPECT_EQ(answer.model_type(), tei::v1::MODEL_TYPE_EMBEDDING);
  EXPECT_EQ(answer.max_concurrent_requests(), 7u);
  EXPECT_EQ(answer.max_input_length(), 64u);
  EXPECT_EQ(answer.max_batch_tokens(), 256u);
  EXPECT_FALSE(answer.has_max_batch_requests());
  EXPECT_EQ(answer.max_client_batch_size(), 2048u);
  EXPECT_EQ(answer.tokenization_workers(), 2u);
  EXPECT_FALSE(answer.has_sha());
  for (const auto& [model, type] : std::vector<std::pair<std::string, tei::v1::ModelType>>{
           {"tiny-reranker", tei::v1::MODEL_TYPE_RERANKER},
           {"tiny-bert-classifier", tei::v1::MODEL_TYPE_CLASSIFIER}}) {
    TinyGrpc other(model);
    other.Open();
    EXPECT_EQ(Ask(*other.tell, &tei::v1::Info::Stub::Info, tei::v1::InfoRequest()).answer.model_type(), type);
  }
}

TEST(GrpcEmbed, IsAsTheReferenceSays) {
  TinyGrpc tiny("tiny-xlm-roberta-dense");
  tiny.Open();
  size_t compared = 0;
  for (const ReferenceText& text : ReferenceTexts("tiny-xlm-roberta-dense")) {
    if (text.text.empty()) continue;
    ++compared;
    tei::v1::EmbedRequest request = Of(text.text);
    request.set_truncate(true);
    if (!text.prompt_name.empty()) request.set_prompt_name(text.prompt_name);
    const auto told = Ask(*tiny.embed, &Embed::Stub::Embed, request);
    ASSERT_TRUE(told.status.ok()) << told.status.error_message();
    ExpectNear(FloatsOf(told.answer.embeddings()), text.embedding, text.text);
    EXPECT_EQ(told.answer.metadata().compute_tokens(), text.ids.size()) << text.text;
  }
  EXPECT_GE(compared, 8u);
}

TEST(GrpcEmbed, TellsWhatItCostInTheMessageAndInMetadata) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  grpc::ClientContext call;
  call.AddMetadata("x-request-id", "mine-1");
  tei::v1::EmbedResponse answer;
  ASSERT_TRUE(tiny.embed->Embed(&call, Of("日本 a"), &answer).ok());
  const tei::v1::Metadata& costs = answer.metadata();
  EXPECT_EQ(costs.compute_chars(), 4u);
  const auto& metadata = call.GetServerInitialMetadata();
  const auto header = [&](const char* name) {
    const auto found = metadata.find(name);
    return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
  };
  EXPECT_EQ(header("x-request-id"), "mine-1");
  EXPECT_EQ(header("x-compute-type"), "cpu");
  EXPECT_EQ(header("x-compute-characters"), "4");
  EXPECT_EQ(header("x-compute-tokens"), absl::StrCat(costs.compute_tokens()));
  for (const char* name :
       {"x-compute-time", "x-total-time", "x-tokenization-time", "x-queue-time", "x-inference-time"})
    EXPECT_FALSE(header(name).empty()) << name;
  EXPECT_GT(costs.inference_time_ns(), 0u);
  EXPECT_GT(costs.tokenization_time_ns(), 0u);
  EXPECT_GE(costs.total_time_ns(), costs.inference_time_ns() + costs.tokenization_time_ns());
}

TEST(GrpcEmbed, NormalizesAndCutsTheVectorAsItIsAsked) {
  TinyGrpc tiny("tiny-xlm-roberta-last");  // its folder does not normalize
  tiny.Open();
  tei::v1::EmbedRequest request = Of("water");
  const auto vector = [&] {
    return FloatsOf(Ask(*tiny.embed, &Embed::Stub::Embed, request).answer.embeddings());
  };
  const std::vector<float> unit = vector();
  double sum = 0;
  for (const float value : unit) sum += double{value} * value;
  EXPECT_NEAR(sum, 1, 1e-6);
  request.set_normalize(true);
  EXPECT_EQ(vector(), unit);
  request.set_normalize(false);
  EXPECT_EQ(vector(),
            Json(tiny.http().Post("/embed", R"({"inputs":"water","normalize":false})").body).Floats("/0"));
  EXPECT_NE(vector(), unit);
  request.set_normalize(true);
  request.set_dimensions(8);
  EXPECT_EQ(vector(),
            Json(tiny.http().Post("/embed", R"({"inputs":"water","dimensions":8})").body).Floats("/0"));
  for (const uint32_t wrong : {0u, 1000u, 0xffffffffu}) {
    request.set_dimensions(wrong);
    ExpectStatus(Ask(*tiny.embed, &Embed::Stub::Embed, request).status, StatusCode::INVALID_ARGUMENT,
                 "`dimensions`");
  }
}

TEST(GrpcEmbed, TruncatesOnlyWhenAsked) {
  TinyGrpc tiny("tiny-bert");  // --auto-truncate is on, and not for this face
  tiny.Open();
  const std::string text = kLong + Repeated("model ", 100);
  tei::v1::EmbedRequest request = Of(text);
  ExpectStatus(Ask(*tiny.embed, &Embed::Stub::Embed, request).status, StatusCode::INVALID_ARGUMENT,
               "`inputs[0]`: 202 tokens, expected at most 64");
  const auto http = [&](const char* side) {
    return Json(tiny.http()
                    .Post("/embed", absl::StrCat("{\"truncation_direction\":\"", side,
                                                 "\",\"inputs\":", Quote(text), "}"))
                    .body)
        .Floats("/0");
  };
  request.set_truncate(true);
  EXPECT_EQ(FloatsOf(Ask(*tiny.embed, &Embed::Stub::Embed, request).answer.embeddings()), http("Right"));
  request.set_truncation_direction(tei::v1::TRUNCATION_DIRECTION_LEFT);
  EXPECT_EQ(FloatsOf(Ask(*tiny.embed, &Embed::Stub::Embed, request).answer.embeddings()), http("Left"));
  EXPECT_NE(http("Left"), http("Right"));
}

TEST(GrpcEmbed, WrongFieldsAreNamed) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  const auto expect = [&](const tei::v1::EmbedRequest& request, const std::string& said) {
    ExpectStatus(Ask(*tiny.embed, &Embed::Stub::Embed, request).status, StatusCode::INVALID_ARGUMENT, said);
  };
  expect({}, "`inputs`: empty");
  tei::v1::EmbedRequest request = Of("a");
  request.set_prompt_name("none");
  expect(request, "`prompt_name`");
  for (const int direction : {2, -1, 2'000'000'000}) {
    request = Of("a");
    request.set_truncation_direction(static_cast<tei::v1::TruncationDirection>(direction));
    expect(request, absl::StrCat("`truncation_direction`: ", direction));
  }
  EXPECT_TRUE(Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status.ok());
}

TEST(GrpcEmbedAll, IsWhatHttpGives) {
  for (const char* model : {"tiny-bert", "tiny-m3"}) {  // the second has a head for it
    TinyGrpc tiny(model);
    tiny.Open();
    const auto told =
        Ask(*tiny.embed, &Embed::Stub::EmbedAll, Of<tei::v1::EmbedAllRequest>("the small model"));
    ASSERT_TRUE(told.status.ok()) << told.status.error_message();
    const Json http(tiny.http().Post("/embed_all", R"({"inputs":"the small model"})").body);
    ASSERT_EQ(static_cast<size_t>(told.answer.token_embeddings_size()), http.Size("/0"));
    for (int t = 0; t < told.answer.token_embeddings_size(); ++t) {
      EXPECT_EQ(FloatsOf(told.answer.token_embeddings(t).embeddings()), http.Floats(absl::StrCat("/0/", t)));
    }
    EXPECT_EQ(told.answer.metadata().compute_tokens(), http.Size("/0"));
  }
}

TEST(GrpcEmbedSparse, IsWhatHttpGives) {
  TinyGrpc tiny("tiny-m3");
  tiny.Open();
  const auto told = Ask(*tiny.embed, &Embed::Stub::EmbedSparse,
                        Of<tei::v1::EmbedSparseRequest>("the small model finds water"));
  ASSERT_TRUE(told.status.ok()) << told.status.error_message();
  const Json http(tiny.http().Post("/embed_sparse", R"({"inputs":"the small model finds water"})").body);
  ASSERT_EQ(static_cast<size_t>(told.answer.sparse_embeddings_size()), http.Size("/0"));
  ASSERT_GT(told.answer.sparse_embeddings_size(), 1);
  for (int i = 0; i < told.answer.sparse_embeddings_size(); ++i) {
    EXPECT_EQ(told.answer.sparse_embeddings(i).index(), http.Integer(absl::StrCat("/0/", i, "/index")));
    EXPECT_EQ(told.answer.sparse_embeddings(i).value(), http.Float(absl::StrCat("/0/", i, "/value")));
  }
}

TEST(GrpcPredict, ClassifiesTextsAndPairs) {
  TinyGrpc tiny("tiny-bert-classifier");
  tiny.Open();
  const std::vector<std::string> names = {"contradiction", "entailment", "neutral"};
  for (const ReferencePair& pair : ReferencePairs("tiny-bert-classifier")) {
    tei::v1::PredictPairRequest request;
    request.add_inputs(pair.query);
    request.add_inputs(pair.document);
    request.set_truncate(true);
    const auto shares = Ask(*tiny.predict, &Predict::Stub::PredictPair, request).answer;
    request.set_raw_scores(true);
    const auto raw = Ask(*tiny.predict, &Predict::Stub::PredictPair, request).answer;
    double sum = 0;
    for (const float logit : pair.logits) sum += std::exp(logit);
    ASSERT_EQ(raw.predictions_size(), 3);
    ASSERT_EQ(shares.predictions_size(), 3);
    EXPECT_EQ(raw.metadata().compute_tokens(), pair.ids.size());
    for (int i = 0; i < 3; ++i) {
      const std::string& label = raw.predictions(i).label();
      const auto at = static_cast<size_t>(std::find(names.begin(), names.end(), label) - names.begin());
      ASSERT_LT(at, 3u) << label;
      EXPECT_NEAR(raw.predictions(i).score(), pair.logits[at], 1e-5f);
      EXPECT_EQ(shares.predictions(i).label(), label);
      EXPECT_NEAR(shares.predictions(i).score(), std::exp(pair.logits[at]) / sum, 1e-5);
      if (i > 0) {
        EXPECT_GE(raw.predictions(i - 1).score(), raw.predictions(i).score());
      }
    }
  }
  const auto one = Ask(*tiny.predict, &Predict::Stub::Predict, Of<tei::v1::PredictRequest>("water")).answer;
  tei::v1::PredictPairRequest pair;
  pair.add_inputs("water");
  const auto same = Ask(*tiny.predict, &Predict::Stub::PredictPair, pair).answer;
  const Json http(tiny.http().Post("/predict", R"({"inputs":"water"})").body);
  ASSERT_EQ(one.predictions_size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.predictions(i).score(), http.Float(absl::StrCat("/", i, "/score")));
    EXPECT_EQ(one.predictions(i).label(), http.Text(absl::StrCat("/", i, "/label")));
    EXPECT_EQ(same.predictions(i).score(), one.predictions(i).score());
  }
  pair.set_inputs(0, "");
  ExpectStatus(Ask(*tiny.predict, &Predict::Stub::PredictPair, pair).status, StatusCode::INVALID_ARGUMENT,
               "`inputs[0]`: empty");
  pair.add_inputs("b");
  pair.add_inputs("c");
  ExpectStatus(Ask(*tiny.predict, &Predict::Stub::PredictPair, pair).status, StatusCode::INVALID_ARGUMENT,
               "3 texts, expected one or two");
  ExpectStatus(Ask(*tiny.predict, &Predict::Stub::PredictPair, tei::v1::PredictPairRequest()).status,
               StatusCode::INVALID_ARGUMENT, "0 texts");
  ExpectStatus(Ask(*tiny.predict, &Predict::Stub::Predict, tei::v1::PredictRequest()).status,
               StatusCode::INVALID_ARGUMENT, "`inputs`: empty");
}

TEST(GrpcRerank, IsAsTheReferenceSays) {
  TinyGrpc tiny("tiny-reranker");
  tiny.Open();
  std::vector<ReferencePair> pairs = ReferencePairs("tiny-reranker");
  std::erase_if(pairs, [](const ReferencePair& pair) { return pair.query != "who can find water"; });
  ASSERT_EQ(pairs.size(), 2u);
  ASSERT_LT(pairs[0].logits[0], pairs[1].logits[0]);
  tei::v1::RerankRequest request;
  request.set_query(pairs[0].query);
  for (const size_t p : {0, 1, 0}) request.add_texts(pairs[p].document);
  request.set_raw_scores(true);
  request.set_return_text(true);
  const auto raw = Ask(*tiny.rerank, &Rerank::Stub::Rerank, request);
  ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
  ASSERT_EQ(raw.answer.ranks_size(), 3);
  const int order[] = {1, 0, 2};  // of equal scores the lower index first
  for (int r = 0; r < 3; ++r) {
    const ReferencePair& pair = pairs[order[r] == 1 ? 1 : 0];
    EXPECT_EQ(raw.answer.ranks(r).index(), static_cast<uint32_t>(order[r]));
    EXPECT_EQ(raw.answer.ranks(r).text(), pair.document);
    EXPECT_NEAR(raw.answer.ranks(r).score(), pair.logits[0], 1e-5f);
  }
  EXPECT_EQ(raw.answer.metadata().compute_tokens(), 2 * pairs[0].ids.size() + pairs[1].ids.size());
  request.clear_raw_scores();
  request.clear_return_text();
  const auto shown = Ask(*tiny.rerank, &Rerank::Stub::Rerank, request).answer;
  EXPECT_NEAR(shown.ranks(0).score(), 1 / (1 + std::exp(-double{pairs[1].logits[0]})), 1e-5);
  EXPECT_FALSE(shown.ranks(0).has_text());
}

TEST(GrpcRerank, WrongRequestsAreNamed) {
  TinyGrpc tiny("tiny-reranker", [](TestOptions& options) { options.gateway.policy.max_client_batch = 2; });
  tiny.Open();
  tei::v1::RerankRequest request;
  request.set_query("a");
  ExpectStatus(Ask(*tiny.rerank, &Rerank::Stub::Rerank, request).status, StatusCode::INVALID_ARGUMENT,
               "`texts`");
  for (int i = 0; i < 3; ++i) request.add_texts("b");
  ExpectStatus(Ask(*tiny.rerank, &Rerank::Stub::Rerank, request).status, StatusCode::INVALID_ARGUMENT,
               "3 inputs, expected at most 2");
  request.mutable_texts()->RemoveLast();
  request.set_texts(1, kLong);
  ExpectStatus(Ask(*tiny.rerank, &Rerank::Stub::Rerank, request).status, StatusCode::INVALID_ARGUMENT,
               "`texts[1]`");
  request.set_truncate(true);
  EXPECT_TRUE(Ask(*tiny.rerank, &Rerank::Stub::Rerank, request).status.ok());
}

TEST(GrpcTokenize, GivesTokensAndTextsBack) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  const std::vector<ReferenceText> texts = ReferenceTexts("tiny-bert");
  const ReferenceText& water = texts[3];
  ASSERT_EQ(water.text, "water water water");
  auto request = Of<tei::v1::EncodeRequest>(water.text);
  const auto plain = Ask(*tiny.tokenize, &Tokenize::Stub::Tokenize, request);
  ASSERT_TRUE(plain.status.ok()) << plain.status.error_message();
  ASSERT_EQ(plain.answer.tokens_size() + 2u, water.ids.size()) << "no special tokens unless asked";
  request.set_add_special_tokens(true);
  const auto answer = Ask(*tiny.tokenize, &Tokenize::Stub::Tokenize, request).answer;
  ASSERT_EQ(static_cast<size_t>(answer.tokens_size()), water.ids.size());
  tei::v1::DecodeRequest ids;
  for (int t = 0; t < answer.tokens_size(); ++t) {
    const tei::v1::SimpleToken& token = answer.tokens(t);
    EXPECT_EQ(token.id(), static_cast<uint32_t>(water.ids[static_cast<size_t>(t)]));
    ids.add_ids(token.id());
    const bool special = t == 0 || t + 1 == answer.tokens_size();
    EXPECT_EQ(token.special(), special);
    EXPECT_EQ(token.has_start(), !special);
    EXPECT_EQ(token.has_stop(), !special);
    if (!special) {
      EXPECT_EQ(token.text(), water.text.substr(token.start(), token.stop() - token.start()));
    }
  }
  EXPECT_EQ(answer.tokens(0).text(), "<s>");
  std::string list;
  for (const uint32_t id : ids.ids()) absl::StrAppend(&list, list.empty() ? "[" : ",", id);
  EXPECT_EQ(Ask(*tiny.tokenize, &Tokenize::Stub::Decode, ids).answer.text(),
            Json(tiny.http().Post("/decode", "{\"skip_special_tokens\":false,\"ids\":" + list + "]}").body)
                .Text("/0"))
      << "special tokens too, unless asked";
  ids.set_skip_special_tokens(true);
  EXPECT_EQ(Ask(*tiny.tokenize, &Tokenize::Stub::Decode, ids).answer.text(), "water water water");
  request.set_prompt_name("query");
  const auto prompted = Ask(*tiny.tokenize, &Tokenize::Stub::Tokenize, request).answer;
  EXPECT_GT(prompted.tokens_size(), answer.tokens_size());
  EXPECT_EQ(prompted.tokens(prompted.tokens_size() - 2).stop(),
            std::string("query: water water water").size());
  ExpectStatus(Ask(*tiny.tokenize, &Tokenize::Stub::Tokenize, tei::v1::EncodeRequest()).status,
               StatusCode::INVALID_ARGUMENT, "`inputs`: empty");
  ExpectStatus(Ask(*tiny.tokenize, &Tokenize::Stub::Decode, tei::v1::DecodeRequest()).status,
               StatusCode::INVALID_ARGUMENT, "`ids`");
  for (const uint32_t id : {999'999u, 0xffffffffu}) {
    ids.set_ids(1, id);
    ExpectStatus(Ask(*tiny.tokenize, &Tokenize::Stub::Decode, ids).status, StatusCode::INVALID_ARGUMENT,
                 absl::StrCat("`ids[1]`: ", id));
  }
}

TEST(GrpcTokenize, TextsOfTokensAreUtf8) {
  // Three bytes of one character may be tokens of their own, and a token's text then no character.
  TinyGrpc tiny("tiny-m3");
  tiny.Open();
  for (const char* text : {"日本", "🙂 a", "\xcc\x81", "a\xe2\x80\x8b"}) {
    const auto told = Ask(*tiny.tokenize, &Tokenize::Stub::Tokenize, Of<tei::v1::EncodeRequest>(text));
    // The client's own parser refuses what is no UTF-8.
    EXPECT_TRUE(told.status.ok()) << text << ": " << told.status.error_message();
  }
}

// A model that does not do what is asked.
TEST(GrpcMethods, WrongKindsOfModelAreAPreconditionThatFails) {
  TinyGrpc tiny("tiny-bert"), reranker("tiny-reranker"), classifier("tiny-bert-classifier");
  tiny.Open(), reranker.Open(), classifier.Open();
  const auto wrong = StatusCode::FAILED_PRECONDITION;
  tei::v1::RerankRequest rank;
  rank.set_query("a");
  rank.add_texts("b");
  tei::v1::PredictPairRequest pair;
  pair.add_inputs("a");
  ExpectStatus(Ask(*tiny.embed, &Embed::Stub::EmbedSparse, Of<tei::v1::EmbedSparseRequest>("a")).status,
               wrong, "embeds texts, expected one that gives weights of tokens");
  ExpectStatus(Ask(*tiny.predict, &Predict::Stub::Predict, Of<tei::v1::PredictRequest>("a")).status, wrong,
               "classifies texts");
  ExpectStatus(Ask(*tiny.predict, &Predict::Stub::PredictPair, pair).status, wrong, "classifies texts");
  ExpectStatus(Ask(*tiny.rerank, &Rerank::Stub::Rerank, rank).status, wrong, "scores pairs");
  ExpectStatus(Ask(*classifier.rerank, &Rerank::Stub::Rerank, rank).status, wrong, "scores pairs");
  for (TinyGrpc* other : {&reranker, &classifier}) {
    ExpectStatus(Ask(*other->embed, &Embed::Stub::Embed, Of("a")).status, wrong, "embeds texts");
    ExpectStatus(Ask(*other->embed, &Embed::Stub::EmbedAll, Of<tei::v1::EmbedAllRequest>("a")).status, wrong,
                 "vector a token");
    EXPECT_TRUE(Ask(*other->predict, &Predict::Stub::Predict, Of<tei::v1::PredictRequest>("a")).status.ok());
  }
}

}  // namespace
}  // namespace trellis::gateway
