// What GET /metrics counts: each request once, under our names and TEI's, and nothing that a client could
// make up.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/grpc/metrics_text.h"

namespace trellis::gateway {
namespace {

using server::Samples;

Samples Scrape(TinyGateway& tiny) {
  const HttpResponse response = tiny.Get("/metrics");
  EXPECT_TRUE(response.content_type.starts_with("text/plain"));
  return server::ParseMetrics(response.body);
}

double Difference(const Samples& after, const Samples& before, const std::string& series) {
  return after.at(series) - before.at(series);
}

// All of one name, whatever their labels.
double Sum(const Samples& samples, const std::string& name) {
  double sum = 0;
  for (const auto& [series, value] : samples) {
    if (series.starts_with(name + "{")) sum += value;
  }
  return sum;
}

constexpr const char* kFailures[] = {"batch_size", "validation", "model_type", "tokenization",
                                     "inference",  "overloaded", "dropped",    "missing_values"};
constexpr const char* kDurations[] = {"duration", "tokenization_duration", "queue_duration",
                                      "inference_duration"};

TEST(Metrics, AreAllThereBeforeTheFirstRequest) {
  TinyGateway tiny("tiny-bert");
  const Samples samples = Scrape(tiny);
  std::vector<std::string> names = {"te_queue_size",
                                    "te_batch_next_size_count",
                                    "te_batch_next_tokens_count",
                                    "te_request_input_length_count",
                                    "trellis_truncated_inputs_total",
                                    "trellis_http_requests_total{code=\"200\",route=\"/v1/embeddings\"}",
                                    "trellis_http_request_duration_seconds_count{route=\"other\"}"};
  for (const char* of : {"te_request_count", "te_request_success"}) {
    for (const char* method : {"single", "batch"})
      names.push_back(std::string(of) + "{method=\"" + method + "\"}");
  }
  for (const char* failure : kFailures)
    names.push_back(std::string("te_request_failure{err=\"") + failure + "\"}");
  for (const std::string of : {"te_embed_", "te_predict_"}) {
    names.push_back(of + "count");
    names.push_back(of + "success");
    for (const char* duration : kDurations) names.push_back(of + duration + "_count");
  }
  for (const char* duration : kDurations) names.push_back(std::string("te_request_") + duration + "_count");
  for (const std::string& name : names) {
    ASSERT_TRUE(samples.contains(name)) << name;
    EXPECT_EQ(samples.at(name), 0) << name;
  }
  for (const auto& [series, value] : samples) EXPECT_EQ(value, 0) << series;
}

TEST(Metrics, OneRequestIsOneMore) {
  TinyGateway tiny("tiny-bert");
  TinyGateway classifier("tiny-bert-classifier");
  tiny.Open();
  classifier.Open();
  Samples before = Scrape(tiny);
  ASSERT_EQ(tiny.Post("/v1/embeddings", R"({"input":"a"})").status, 200);
  Samples after = Scrape(tiny);
  EXPECT_EQ(Difference(after, before, "te_request_count{method=\"single\"}"), 1);
  EXPECT_EQ(Difference(after, before, "te_request_success{method=\"single\"}"), 1);
  EXPECT_EQ(Difference(after, before, "te_embed_count"), 1);
  EXPECT_EQ(Difference(after, before, "te_embed_success"), 1);
  EXPECT_EQ(Difference(after, before, "te_batch_next_size_count"), 1);
  EXPECT_EQ(Difference(after, before, "te_batch_next_size_sum"), 1);
  EXPECT_EQ(Difference(after, before, "te_batch_next_tokens_sum"), 3) << "<s> a </s>";
  EXPECT_EQ(Difference(after, before, "te_request_input_length_sum"), 3);
  EXPECT_EQ(after.at("te_queue_size"), 0);
  for (const char* duration : kDurations) {
    EXPECT_EQ(after.at(std::string("te_request_") + duration + "_count"), 1) << duration;
    EXPECT_EQ(after.at(std::string("te_embed_") + duration + "_count"), 1) << duration;
    EXPECT_EQ(after.at(std::string("te_predict_") + duration + "_count"), 0) << duration;
  }
  EXPECT_EQ(Sum(after, "te_request_count"), 1);
  EXPECT_EQ(Sum(after, "te_request_failure"), 0);

  before = Scrape(classifier);
  ASSERT_EQ(classifier.Post("/predict", R"({"inputs":"a"})").status, 200);
  after = Scrape(classifier);
  EXPECT_EQ(Difference(after, before, "te_request_count{method=\"single\"}"), 1);
  EXPECT_EQ(Difference(after, before, "te_request_success{method=\"single\"}"), 1);
  EXPECT_EQ(Difference(after, before, "te_predict_count"), 1);
  EXPECT_EQ(Difference(after, before, "te_predict_success"), 1);
  EXPECT_EQ(Difference(after, before, "te_embed_count"), 0);
  EXPECT_EQ(after.at("te_predict_inference_duration_count"), 1);
}

TEST(Metrics, ABatchIsOneRequestOfSeveralInputs) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  ASSERT_EQ(tiny.Post("/embed", R"({"inputs":["a","a","a"]})").status, 200);
  const Samples samples = Scrape(tiny);
  EXPECT_EQ(samples.at("te_request_count{method=\"batch\"}"), 1);
  EXPECT_EQ(samples.at("te_request_success{method=\"batch\"}"), 1);
  EXPECT_EQ(samples.at("te_request_count{method=\"single\"}"), 0);
  EXPECT_EQ(samples.at("te_embed_count"), 3);
  EXPECT_EQ(samples.at("te_embed_success"), 3);
  EXPECT_EQ(samples.at("te_embed_duration_count"), 3) << "TEI times its inputs one by one";
  EXPECT_NEAR(samples.at("te_embed_duration_sum"), 3 * samples.at("te_request_duration_sum"), 1e-9);
  EXPECT_EQ(samples.at("te_request_duration_count"), 1);
  EXPECT_EQ(samples.at("te_request_input_length_count"), 3);
  EXPECT_EQ(samples.at("te_request_input_length_sum"), 9);
  EXPECT_EQ(samples.at("te_request_input_length_bucket{le=\"1\"}"), 0);
  EXPECT_EQ(samples.at("te_request_input_length_bucket{le=\"4\"}"), 3);
  EXPECT_EQ(samples.at("trellis_http_requests_total{code=\"200\",route=\"/embed\"}"), 1);
}

TEST(Metrics, FailuresAreCountedOnceByKind) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.policy.max_client_batch = 2; });
  tiny.Open();
  const auto expect = [&](const std::string& path, const std::string& body, const std::string& failure) {
    const Samples before = Scrape(tiny);
    EXPECT_NE(tiny.Post(path, body).status, 200) << body;
    const Samples after = Scrape(tiny);
    EXPECT_EQ(Difference(after, before, "te_request_failure{err=\"" + failure + "\"}"), 1) << body;
    EXPECT_EQ(Sum(after, "te_request_failure") - Sum(before, "te_request_failure"), 1) << body;
    EXPECT_EQ(Sum(after, "te_request_count") - Sum(before, "te_request_count"), 1) << body;
    EXPECT_EQ(Sum(after, "te_request_success"), Sum(before, "te_request_success")) << body;
    EXPECT_EQ(Difference(after, before, "te_embed_success"), 0) << body;
  };
  expect("/embed", "{", "validation");
  expect("/embed", R"({"inputs":""})", "validation");
  expect("/embed", R"({"inputs":["a","b","c"]})", "batch_size");
  expect("/predict", R"({"inputs":"a"})", "model_type");
  std::string words = "water";
  for (int i = 0; i < 100; ++i) words += " water";
  expect("/embed", R"({"truncate":false,"inputs":")" + words + "\"}", "tokenization");
  tiny.server().Drain(std::chrono::minutes(1));
  const Samples before = Scrape(tiny);
  EXPECT_EQ(tiny.Post("/embed", R"({"inputs":"a"})").status, 503);
  EXPECT_EQ(Sum(Scrape(tiny), "te_request_count"), Sum(before, "te_request_count")) << "it never came so far";

  TinyGateway full("tiny-bert", [](TestOptions& options) { options.gateway.max_concurrent_requests = 0; });
  full.Open();
  EXPECT_EQ(full.Post("/embed", R"({"inputs":"a"})").status, 429);
  EXPECT_EQ(Scrape(full).at("te_request_failure{err=\"overloaded\"}"), 1);
  EXPECT_EQ(Sum(Scrape(full), "te_request_count"), 1);

  TinyGateway late("tiny-bert", [](TestOptions& options) {
    options.gateway.policy.timeout = std::chrono::milliseconds(0);
  });
  late.Open();
  EXPECT_EQ(late.Post("/embed", R"({"inputs":"a"})").status, 504);
  EXPECT_EQ(Scrape(late).at("te_request_failure{err=\"dropped\"}"), 1);
}

TEST(Metrics, PagesAndWrongPathsAreNoRequestsToTheModel) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.cors_allow_origin = "*"; });
  tiny.Open();
  tiny.Get("/health");
  tiny.Get("/none\"such\nlabel");
  tiny.Get("/embed");
  HttpRequest preflight;
  preflight.method = "OPTIONS";
  preflight.path = "/embed";
  preflight.origin = "https://page.example";
  EXPECT_EQ(tiny.Send(preflight).status, 204);
  const Samples samples = Scrape(tiny);
  EXPECT_EQ(Sum(samples, "te_request_count"), 0);
  EXPECT_EQ(Sum(samples, "te_request_failure"), 0);
  EXPECT_EQ(samples.at("trellis_http_requests_total{code=\"404\",route=\"other\"}"), 1);
  EXPECT_EQ(samples.at("trellis_http_requests_total{code=\"405\",route=\"/embed\"}"), 1);
  EXPECT_EQ(samples.at("trellis_http_requests_total{code=\"204\",route=\"/embed\"}"), 1);
}

// Whatever clients send: no series is new, and every request is a success or a failure.
TEST(Metrics, NoSeriesComesFromAClient) {
  TinyGateway tiny("tiny-m3");
  tiny.Open();
  const Samples before = Scrape(tiny);
  std::mt19937 random(20261130);
  const std::vector<std::string> parts = {
      "\"inputs\":", "\"input\":", "\"model\":", "\"prompt_name\":", "\"user\":", "\"a\"", "[", "]", "{", "}",
      ",",           "1",          "null",       "\"\\u00e9\"",      "\xff"};
  const auto pick = [&](size_t of) { return static_cast<size_t>(random() % of); };
  for (int i = 0; i < 500; ++i) {
    HttpRequest request;
    request.method = pick(4) == 0 ? "M" + std::to_string(i) : "POST";
    request.path = pick(3) == 0 ? "/p" + std::to_string(i) : Routes()[pick(Routes().size())].path;
    request.request_id = "id-" + std::to_string(i);
    request.body = pick(3) == 0 ? R"({"inputs":"a","input":"a"})" : "{";
    for (size_t n = pick(12); n > 0; --n) request.body += parts[pick(parts.size())];
    tiny.Send(request);
  }
  const Samples after = Scrape(tiny);
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [series, value] : before) EXPECT_TRUE(after.contains(series)) << series;
  EXPECT_GT(Sum(after, "te_request_success"), 0);
  EXPECT_GT(Sum(after, "te_request_failure"), 0);
  EXPECT_EQ(Sum(after, "te_request_count"),
            Sum(after, "te_request_success") + Sum(after, "te_request_failure"));
  EXPECT_EQ(Sum(after, "trellis_http_requests_total") - Sum(before, "trellis_http_requests_total"), 501)
      << "and the page of the metrics itself";
}

}  // namespace
}  // namespace trellis::gateway
