// Public bug reports against servers like this one, the right behaviour each: load, loss, and what is
// counted. As reported_lengths_test.cc.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/gateway/balancer.h"
#include "serve/gateway/grpc_replica.h"
#include "tests/serve/gateway/http_client.h"
#include "tests/serve/gateway/loopback.h"
#include "tests/serve/gateway/remote_model.h"
#include "tests/serve/grpc/metrics_text.h"

namespace trellis::gateway {
namespace {

constexpr const char* kLike = "vocab=272,max_row_tokens=64,max_batch_tokens=256";

void Wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// text-embeddings-inference#744, #811, #470: a full channel ended the process. sglang#33858: requests that
// got no answer at all.
TEST(ReportedOperations, B9EachOfTooManyIsServedOrToldToComeAgain) {
  Loopback loopback("tiny-bert", [](TestOptions& options) {
    options.synthetic = absl::StrCat(kLike, ",batch_us=2000");
    options.gateway.max_concurrent_requests = 16;
    options.gateway.policy.max_client_batch = 8;
  });
  const std::string body = R"({"inputs":["a","b","c","d","e","f","g","h"]})";
  const std::string request =
      absl::StrCat("POST /embed HTTP/1.1\r\nHost: test\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<HttpClient>(loopback.port()));
  size_t served = 0, refused = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (const auto& client : clients) client->Send(request);
    for (const auto& client : clients) {
      const HttpAnswer answer = client->Read();
      EXPECT_TRUE(answer.status == 200 || answer.status == 429) << answer.status << answer.body;
      ++(answer.status == 200 ? served : refused);
    }
  }
  EXPECT_EQ(served + refused, 600u);
  EXPECT_GE(served, 3u);
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(HttpClient(loopback.port()).Post("/embed", body).status, 200);
  EXPECT_EQ(HttpClient(loopback.port()).Get("/health").status, 200);
}

// text-embeddings-inference#480, #879, #880, #271, #520
TEST(ReportedOperations, B16EachRequestCountsOnce) {
  Loopback loopback("tiny-bert", [](TestOptions& options) { options.synthetic = kLike; });
  HttpClient client(loopback.port());
  const auto scrape = [&] { return server::ParseMetrics(client.Get("/metrics").body); };
  server::Samples before = scrape();
  for (const auto& [path, body] :
       {std::pair{"/v1/embeddings", R"({"input":"a"})"}, {"/predict", R"({"inputs":"a"})"}}) {
    EXPECT_EQ(client.Post(path, body).status, 200);
    const server::Samples after = scrape();
    EXPECT_EQ(
        after.at("te_request_count{method=\"single\"}") - before.at("te_request_count{method=\"single\"}"),
        1);
    EXPECT_EQ(after.at("te_request_success{method=\"single\"}") -
                  before.at("te_request_success{method=\"single\"}"),
              1);
    EXPECT_EQ(after.size(), before.size()) << "series are there before the first request";
    before = after;
  }
  EXPECT_LT(before.size(), 2000u);
}

// infinity#242, #614, PR 668: one input that made the model throw ended the worker, and then nobody was
// answered.
TEST(ReportedOperations, B17AnInputThatBreaksTheEngineBreaksNoOther) {
  Loopback loopback("tiny-bert", [](TestOptions& options) {
    options.synthetic = absl::StrCat(kLike, ",fail_batch_id=7,batch_us=3000");
  });
  // Together, so that they meet in a batch, which then fails as a whole.
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 11; ++i) {
    const std::string body = absl::StrCat("{\"input\":[", i == 5 ? 7 : 8, "]}");
    clients.push_back(std::make_unique<HttpClient>(loopback.port()));
    clients.back()->Send(absl::StrCat(
        "POST /v1/embeddings HTTP/1.1\r\nHost: test\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  }
  for (size_t i = 0; i < clients.size(); ++i) EXPECT_EQ(clients[i]->Read().status, i == 5 ? 500 : 200) << i;
  EXPECT_EQ(HttpClient(loopback.port()).Get("/health").status, 200);
}

// The first batch is the warm-up.
TEST(ReportedOperations, B17AnEngineThatThrowsIsAskedAgain) {
  for (const char* fault : {",throw_step=2", ",throw_wait=2"}) {
    Loopback loopback("tiny-bert",
                      [&](TestOptions& options) { options.synthetic = absl::StrCat(kLike, fault); });
    HttpClient client(loopback.port());
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(client.Post("/embed", R"({"inputs":"a"})").status, 200) << fault << i;
  }
}

TEST(ReportedOperations, B17WhoWaitsForAnEngineThatDiesIsToldSo) {
  Loopback loopback("tiny-bert", [](TestOptions& options) {
    options.synthetic = absl::StrCat(kLike, ",max_batch_rows=1,die_during=3,batch_us=50000");
  });
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(std::make_unique<HttpClient>(loopback.port()));
    clients.back()->Send(
        "POST /embed HTTP/1.1\r\nHost: test\r\nContent-Length: 14\r\n\r\n{\"inputs\":\"a\"}");
  }
  size_t served = 0;
  for (const auto& client : clients) {
    const HttpAnswer answer = client->Read();
    EXPECT_TRUE(answer.status == 200 || answer.status == 503) << answer.status;
    served += answer.status == 200 ? 1 : 0;
  }
  EXPECT_LE(served, 2u);
  EXPECT_EQ(HttpClient(loopback.port()).Get("/health").status, 503);
  EXPECT_EQ(HttpClient(loopback.port()).Get("/health/live").status, 200);
}

// triton#7014, text-embeddings-inference#553: a readiness that fails while the model loads restarted the pod.
TEST(ReportedOperations, B28ALoadingServerIsAliveAndNotReady) {
  Loopback loopback("tiny-bert", {}, Loopback::State::kLoading);
  HttpClient client(loopback.port());
  EXPECT_EQ(client.Get("/health/live").status, 200);
  EXPECT_EQ(client.Get("/health/ready").status, 503);
  const HttpAnswer answer = client.Post("/embed", R"({"inputs":"a"})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_FALSE(answer.Header("retry-after").empty());
}

// jina serve#4767, #4794; triton#6177: a retry went to the same dead replica, and connections that stay kept
// all requests on one. And llama.cpp#20264 (B18): a body in chunks was handed on as it was.
TEST(ReportedOperations, B28ALostReplicaCostsNoRequest) {
  RemoteModel first("tiny-bert"), second("tiny-bert");
  first.Open();
  second.Open();
  std::vector<const Replica*> both;
  Balancer balancer([&](const std::string& address, std::function<void()> hangs) {
    auto replica = std::make_unique<GrpcReplica>(address, HealthChecks(), std::move(hangs));
    both.push_back(replica.get());
    return replica;
  });
  balancer.SetReplicas({first.target(), second.target()});
  ASSERT_EQ(both.size(), 2u);
  for (int i = 0; i < 6000 && (both[0]->health() != server::Health::kReady ||
                               both[1]->health() != server::Health::kReady);
       ++i)
    Wait(10);
  {
    Loopback loopback("tiny-bert", [&](TestOptions& options) { options.replica = &balancer; });
    std::atomic<bool> ends{false};
    std::atomic<size_t> served{0};
    std::vector<std::thread> clients;
    for (int c = 0; c < 4; ++c) {
      clients.emplace_back([&, c] {
        HttpClient client(loopback.port());  // one connection each, all the time
        while (!ends) {
          if (c % 2 == 0) {
            client.Send("POST /embed HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
            client.Send("e\r\n{\"inputs\":\"a\"}\r\n0\r\n\r\n");
          }
          const HttpAnswer answer =
              c % 2 == 0 ? client.Read() : client.Post("/embed", R"({"inputs":"water"})");
          EXPECT_EQ(answer.status, 200) << answer.body;
          if (answer.status == 0) return;
          ++served;
        }
      });
    }
    while (served < 100) Wait(1);
    EXPECT_GT(first.accepted(), 10u);
    EXPECT_GT(second.accepted(), 10u) << "both are busy";
    first.Stop();
    const size_t before = served;
    while (served < before + 200) Wait(1);
    ends = true;
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(HttpClient(loopback.port()).Get("/health").status, 200);
  }
}

}  // namespace
}  // namespace trellis::gateway
