// The table of statuses where the request is good and whoever computes is not: full, loading, ending, gone,
// slow or broken. As status_table_test.cc.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/gateway/balancer.h"
#include "tests/serve/gateway/status_table.h"

namespace trellis::gateway {
namespace {

constexpr const char* kLike = "vocab=272,max_row_tokens=64,max_batch_tokens=256,tasks=embed";
const Told kOverloaded = {429, 429, "rate_limit_error", "overloaded", "Overloaded"};
const Told kNotReady = {503, 503, "unavailable_error", "not_ready", "Unhealthy"};

TEST(StatusTable, NoPlaceLeft) {
  Loopback loopback("tiny-bert", [](TestOptions& options) { options.gateway.max_concurrent_requests = 0; });
  ExpectTold(loopback, "\"a\"", "", kOverloaded);
  EXPECT_EQ(HttpClient(loopback.port()).Post(kTeiPath, R"({"inputs":"a"})").Header("retry-after"), "1");
}

// The engine takes its time, and nobody takes anything out of the queue meanwhile.
TEST(StatusTable, AFullQueue) {
  Loopback loopback("tiny-bert", [](TestOptions& options) {
    options.synthetic = absl::StrCat(kLike, ",batch_us=300000,depth=1");
    options.server = {.max_batch_tokens = 64, .max_queued_tokens = 64};
  });
  std::vector<std::unique_ptr<HttpClient>> busy;
  const std::string body = "{\"inputs\":" + ManyWords(100) + "}";
  for (int i = 0; i < 8; ++i) {  // two in the engine or on their way there, one in the queue
    busy.push_back(std::make_unique<HttpClient>(loopback.port()));
    busy.back()->Send(absl::StrCat("POST /embed HTTP/1.1\r\nHost: test\r\n", kTestIdHeader,
                                   "Content-Length: ", body.size(), "\r\n\r\n", body));
  }
  size_t served = 0, refused = 0;
  for (const auto& client : busy) {
    const HttpAnswer answer = client->Read();
    if (answer.status == 200) {
      ++served;
    } else {
      ++refused;
      ExpectError(answer, kTeiPath, kOverloaded);
    }
  }
  EXPECT_GT(served, 0u);
  EXPECT_GT(refused, 0u);
}

TEST(StatusTable, WhileItLoads) {
  Loopback loopback("tiny-bert", {}, Loopback::State::kLoading);
  ExpectTold(loopback, "\"a\"", "", kNotReady);
  HttpClient client(loopback.port());
  client.Send(absl::StrCat("GET /health HTTP/1.1\r\nHost: test\r\n", kTestIdHeader, "\r\n"));
  ExpectError(client.Read(), "/health", kNotReady);
}

TEST(StatusTable, WhileItDrains) {
  Loopback loopback;
  EXPECT_TRUE(loopback.tiny().server().Drain(std::chrono::minutes(1)));
  ExpectTold(loopback, "\"a\"", "", kNotReady);
}

TEST(StatusTable, WhileItEnds) {
  Loopback loopback;
  loopback.tiny().gateway().Close();
  ExpectTold(loopback, "\"a\"", "", kNotReady);
}

class AbsentReplica final : public Replica {
 public:
  server::Health health() const override { return server::Health::kDraining; }
  const ReplicaModel* model() const override { return &model_; }
  server::Ticket Infer(ReplicaRequest request) override {
    request.done({absl::UnavailableError("absent"), {}, {}, {}});
    return 0;
  }
  void Cancel(server::Ticket) override {}

 private:
  const ReplicaModel model_;
};

TEST(StatusTable, NoHealthyReplica) {
  Balancer balancer([](const std::string&, const std::function<void()>&) { return std::make_unique<AbsentReplica>(); });
  balancer.SetReplicas({"one:1", "another:1"});
  Loopback loopback("tiny-bert", [&](TestOptions& options) { options.replica = &balancer; });
  ExpectTold(loopback, "\"a\"", "", kNotReady);
}

// The first batch is the warm-up.
TEST(StatusTable, AnEngineThatDied) {
  Loopback loopback("tiny-bert",
                    [](TestOptions& options) { options.synthetic = absl::StrCat(kLike, ",die_during=2"); });
  // Both who saw it die and who came later.
  for (int i = 0; i < 2; ++i) ExpectTold(loopback, "\"a\"", "", kNotReady);
  EXPECT_EQ(HttpClient(loopback.port()).Get("/health").status, 503);
  EXPECT_EQ(HttpClient(loopback.port()).Get("/health/live").status, 200);
}

TEST(StatusTable, OutOfTime) {
  Loopback loopback("tiny-bert", [](TestOptions& options) {
    options.synthetic = absl::StrCat(kLike, ",batch_us=1500000,depth=1");
    options.gateway.policy.timeout = std::chrono::milliseconds(50);
  });
  const auto began = std::chrono::steady_clock::now();
  ExpectTold(loopback, "\"a\"", "", {504, 504, "timeout_error", "timeout", "Backend"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1500))
      << "not when it is computed";
}

TEST(StatusTable, ValuesThatAreNotFinite) {
  Loopback loopback("tiny-bert",
                    [](TestOptions& options) { options.synthetic = absl::StrCat(kLike, ",nonfinite_id=7"); });
  const Told told = {500, 424, "server_error", "non_finite_output", "Backend"};
  ExpectTold(loopback, "[7]", "", told);
  ExpectTold(loopback, "[[8],[7]]", "", told);
  HttpClient client(loopback.port());
  EXPECT_NE(client.Post(kTeiPath, R"({"inputs":[[8],[8],[7]]})").body.find("input 2"), std::string::npos);
  EXPECT_EQ(client.Post(kTeiPath, R"({"inputs":[8]})").status, 200);
}

TEST(StatusTable, AnEngineThatFails) {
  const Told told = {500, 424, "server_error", "engine_error", "Backend"};
  for (const char* fault : {",fail_row_id=7", ",fail_batch_id=7"}) {
    Loopback loopback("tiny-bert",
                      [&](TestOptions& options) { options.synthetic = absl::StrCat(kLike, fault); });
    ExpectTold(loopback, "[7]", "", told);
    EXPECT_EQ(HttpClient(loopback.port()).Post(kTeiPath, R"({"inputs":[8]})").status, 200);
  }
}

}  // namespace
}  // namespace trellis::gateway
