// What holds for every method of tei.v1: keys, messages that are none, health, reflection, metrics, the log.
#include "serve/gateway/grpc_tei_listener.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "prometheus/registry.h"
#include "serve/gateway/access_log.h"
#include "serve/gateway/grpc_tei_methods.h"
#include "serve/gateway/metrics_grpc.h"
#include "tests/serve/gateway/grpc_tei_fixture.h"
#include "tests/serve/grpc/metrics_text.h"
#include "tests/serve/grpc/reflection.h"

namespace trellis::gateway {
namespace {

using grpc::StatusCode;
using grpc::health::v1::HealthCheckResponse;
using tei::v1::Embed;

TEST(GrpcKeys, GuardEveryMethodButHealth) {
  TinyGrpc tiny("tiny-bert", [](TestOptions& options) { options.gateway.api_keys = {"secret"}; });
  tiny.Open();
  for (const char* method : tei_methods::kPaths)
    ExpectStatus(tiny.Raw(method, ""), StatusCode::UNAUTHENTICATED, "Bearer");
  const auto with = [&](const std::string& authorization) {
    grpc::ClientContext call;
    call.AddMetadata("authorization", authorization);
    tei::v1::EmbedResponse answer;
    return tiny.embed->Embed(&call, Of("a"), &answer).error_code();
  };
  EXPECT_EQ(with("Bearer wrong"), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(with("secret"), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(with("Bearer secret"), StatusCode::OK);
  grpc::ClientContext call;
  auto stream = tiny.embed->EmbedStream(&call);
  ExpectStatus(stream->Finish(), StatusCode::UNAUTHENTICATED, "Bearer");
  grpc::ClientContext check;
  HealthCheckResponse response;
  EXPECT_TRUE(tiny.health->Check(&check, {}, &response).ok());
}

TEST(GrpcMessages, ThatAreNoneAreInvalidOnEveryMethod) {
  TinyGrpc tiny("tiny-bert"), reranker("tiny-reranker");
  tiny.Open(), reranker.Open();
  // Field 1 as one byte that neither UTF-8 nor a number ends with; a length past the end; a group that never
  // ends.
  const std::string wrong[] = {std::string("\x0a\x01\xff"),
                               std::string("\x0a\x05"
                                           "ab"),
                               std::string("\x0b"), std::string(64, '\xff')};
  for (const char* method : tei_methods::kPaths) {
    const std::string path = method;
    if (path.starts_with("/tei.v1.Info")) continue;  // has no fields
    for (const std::string& bytes : wrong) {
      for (TinyGrpc* one : {&tiny, &reranker})
        ExpectStatus(one->Raw(path, bytes), StatusCode::INVALID_ARGUMENT, "the message is no tei.v1.");
    }
  }
  EXPECT_TRUE(Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status.ok());
  EXPECT_EQ(tiny.Raw("/tei.v1.Embed/None", "").error_code(), StatusCode::UNIMPLEMENTED);
}

TEST(GrpcMessages, FieldsThatAreNotKnownAreLeftAlone) {
  TinyGrpc tiny("tiny-bert");
  tiny.Open();
  // inputs = "a", and field 100 = 1.
  EXPECT_TRUE(tiny.Raw("/tei.v1.Embed/Embed",
                       "\x0a\x01"
                       "a\xa0\x06\x01")
                  .ok());
}

TEST(GrpcMessages, AreBounded) {
  TinyGrpc tiny("tiny-bert", {}, {.payload_limit = 1000});
  tiny.Open();
  tei::v1::EmbedRequest request = Of(std::string(2000, 'a'));
  request.set_truncate(true);
  EXPECT_EQ(Ask(*tiny.embed, &Embed::Stub::Embed, request).status.error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  request.set_inputs(std::string(900, 'a'));
  EXPECT_TRUE(Ask(*tiny.embed, &Embed::Stub::Embed, request).status.ok());
}

HealthCheckResponse::ServingStatus Health(TinyGrpc& tiny, const std::string& service) {
  grpc::ClientContext call;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  const grpc::Status status = tiny.health->Check(&call, request, &response);
  EXPECT_TRUE(status.ok()) << service << ": " << status.error_message();
  return response.status();
}

TEST(GrpcTeiHealth, NamesWhatTheModelDoes) {
  struct Kind {
    const char* model;
    std::vector<std::string> serves, does_not;
  };
  for (const Kind& kind : {Kind{"tiny-bert", {"Embed"}, {"Predict", "Rerank"}},
                           Kind{"tiny-bert-classifier", {"Predict"}, {"Embed", "Rerank"}},
                           Kind{"tiny-reranker", {"Predict", "Rerank"}, {"Embed"}}}) {
    TinyGrpc tiny(kind.model);
    EXPECT_EQ(Health(tiny, ""), HealthCheckResponse::NOT_SERVING) << "the model is being loaded";
    EXPECT_EQ(Health(tiny, "tei.v1.Info"), HealthCheckResponse::NOT_SERVING);
    tiny.Open();
    for (const char* always : {"", "tei.v1.Info", "tei.v1.Tokenize"})
      EXPECT_EQ(Health(tiny, always), HealthCheckResponse::SERVING) << kind.model << always;
    for (const std::string& service : kind.serves)
      EXPECT_EQ(Health(tiny, "tei.v1." + service), HealthCheckResponse::SERVING) << kind.model << service;
    for (const std::string& service : kind.does_not)
      EXPECT_EQ(Health(tiny, "tei.v1." + service), HealthCheckResponse::NOT_SERVING) << kind.model << service;
    tiny.gateway().Close();
    EXPECT_EQ(Health(tiny, ""), HealthCheckResponse::NOT_SERVING);
  }
}

TEST(GrpcTeiHealth, WatchersHearOfTheirOwnService) {
  TinyGrpc tiny("tiny-bert");
  grpc::ClientContext embed_call, rerank_call;
  grpc::health::v1::HealthCheckRequest embed, rerank;
  embed.set_service("tei.v1.Embed");
  rerank.set_service("tei.v1.Rerank");
  const auto embed_watch = tiny.health->Watch(&embed_call, embed);
  const auto rerank_watch = tiny.health->Watch(&rerank_call, rerank);
  HealthCheckResponse response;
  for (const auto& watch : {embed_watch.get(), rerank_watch.get()}) {
    ASSERT_TRUE(watch->Read(&response));
    EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  }
  tiny.Open();
  tiny.listener().RefreshHealth();
  ASSERT_TRUE(embed_watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  tiny.gateway().Close();
  tiny.listener().AnnounceEnd();
  ASSERT_TRUE(embed_watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(tiny.listener().Stop(std::chrono::minutes(1)));
  EXPECT_FALSE(rerank_watch->Read(&response)) << "it never served";
}

TEST(GrpcReflection, ListsAndDescribesTheServices) {
  TinyGrpc tiny("tiny-bert");
  const std::string services = server::Reflect(tiny.listener().port(), 7, "*");
  for (const char* service : {"tei.v1.Info", "tei.v1.Embed", "tei.v1.Predict", "tei.v1.Rerank",
                              "tei.v1.Tokenize", "grpc.health.v1.Health"})
    EXPECT_NE(services.find(service), std::string::npos) << service;
  // The file that has a symbol: its descriptor has all of its names.
  const std::string file = server::Reflect(tiny.listener().port(), 4, "tei.v1.Embed");
  for (const char* name : {"EmbedSparseStream", "RerankStreamRequest", "truncation_direction"})
    EXPECT_NE(file.find(name), std::string::npos) << name;
}

// Keeps what it is told.
class Records final : public RequestObserver {
 public:
  void RequestDone(const RequestRecord& record) override {
    const std::lock_guard lock(mutex_);
    records_.push_back(record);
  }
  std::vector<RequestRecord> all() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  std::mutex mutex_;
  std::vector<RequestRecord> records_;
};

TEST(GrpcObservers, HearOfEachCallAndMessageOnce) {
  Records records;
  prometheus::Registry registry;
  GrpcMetrics metrics(registry, tei_methods::kPaths);
  const server::Samples before = server::ParseMetrics(MetricsText(registry));
  TinyGrpc tiny("tiny-bert", [&](TestOptions& options) { options.observers = {&records, &metrics}; });
  tiny.Open();
  EXPECT_TRUE(Ask(*tiny.embed, &Embed::Stub::Embed, Of("water")).status.ok());
  EXPECT_FALSE(Ask(*tiny.embed, &Embed::Stub::Embed, Of("")).status.ok());
  EXPECT_FALSE(
      Ask(*tiny.predict, &tei::v1::Predict::Stub::Predict, Of<tei::v1::PredictRequest>("a")).status.ok());
  EXPECT_TRUE(Ask(*tiny.tell, &tei::v1::Info::Stub::Info, tei::v1::InfoRequest()).status.ok());
  grpc::ClientContext call;
  call.AddMetadata("x-request-id", "stream-1");
  EXPECT_EQ(Converse<tei::v1::EmbedResponse>(tiny.embed->EmbedStream(&call),
                                             std::vector<tei::v1::EmbedRequest>(3, Of("a")))
                .answer.size(),
            3u);
  const std::vector<RequestRecord> all = records.all();
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[0].face, RequestRecord::Face::kGrpc);
  EXPECT_EQ(all[0].inputs, 1u);
  EXPECT_GT(all[0].response_bytes, 32u * 4);
  EXPECT_EQ(all[0].status, 0);
  EXPECT_EQ(all[6].request_id, "stream-1");
  const std::string line = AccessLine(all[0], LogForm::kText);
  EXPECT_TRUE(line.starts_with("127.0.0.1:")) << line;
  EXPECT_NE(line.find(" \"GRPC /tei.v1.Embed/Embed\" 0 "), std::string::npos) << line;
  const server::Samples after = server::ParseMetrics(MetricsText(registry));
  const auto count = [&](const char* method, const char* code) {
    return after.at(
        absl::StrCat("trellis_grpc_requests_total{code=\"", code, "\",method=\"/tei.v1.", method, "\"}"));
  };
  EXPECT_EQ(count("Embed/Embed", "OK"), 1);
  EXPECT_EQ(count("Embed/Embed", "INVALID_ARGUMENT"), 1);
  EXPECT_EQ(count("Predict/Predict", "FAILED_PRECONDITION"), 1);
  EXPECT_EQ(count("Info/Info", "OK"), 1);
  EXPECT_EQ(count("Embed/EmbedStream", "OK"), 3);
  EXPECT_EQ(after.at("trellis_grpc_request_duration_seconds_count{method=\"/tei.v1.Embed/EmbedStream\"}"), 3);
  EXPECT_EQ(after.size(), before.size()) << "all series are there from the start";
  // The series that do not ask for a face, and those of HTTP.
  const server::Samples http = server::ParseMetrics(tiny.http().Get("/metrics").body);
  EXPECT_EQ(http.at("te_request_count{method=\"single\"}"), 6) << "those that were refused, too";
  EXPECT_EQ(http.at("te_request_success{method=\"single\"}"), 4);
  EXPECT_EQ(http.at("te_embed_count"), 4);
  EXPECT_EQ(http.at("te_request_failure{err=\"validation\"}"), 1);
  EXPECT_EQ(http.at("te_request_failure{err=\"model_type\"}"), 1);
  EXPECT_EQ(http.at("trellis_http_requests_total{code=\"200\",route=\"other\"}"), 0);
}

TEST(GrpcTimes, TheGatewaysLimitIsADeadlineToo) {
  TinyGrpc tiny("tiny-bert",
                [](TestOptions& options) { options.gateway.policy.timeout = std::chrono::milliseconds(0); });
  tiny.Open();
  EXPECT_EQ(Ask(*tiny.embed, &Embed::Stub::Embed, Of("a")).status.error_code(),
            StatusCode::DEADLINE_EXCEEDED);
}

TEST(GrpcListening, SaysWhatItCannotHave) {
  TinyGateway tiny("tiny-bert");
  const auto taken = GrpcTeiListener::Listen({}, tiny.gateway());
  ASSERT_TRUE(taken.ok());
  GrpcOptions options;
  options.port = static_cast<uint16_t>((*taken)->port());
  const auto again = GrpcTeiListener::Listen(options, tiny.gateway());
  EXPECT_EQ(again.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(again.status().message()).find(absl::StrCat(options.port)), std::string::npos);
  options.tls_cert = options.tls_key = "none.pem";
  EXPECT_NE(std::string(GrpcTeiListener::Listen(options, tiny.gateway()).status().message()).find("none.pem"),
            std::string::npos);
}

}  // namespace
}  // namespace trellis::gateway
