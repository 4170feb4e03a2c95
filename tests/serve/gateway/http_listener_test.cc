// HTTP over loopback: bodies in every shape, connections that stay, limits, what is no HTTP, and clients that
// go away.
#include "serve/gateway/http_listener.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/http_client.h"
#include "tests/serve/gateway/loopback.h"

namespace trellis::gateway {
namespace {

constexpr const char* kBody = R"({"inputs":"water"})";

TEST(HttpListener, OneConnectionServesManyRequests) {
  Loopback loopback;
  HttpClient client(loopback.port());
  const std::string expected = loopback.tiny().Post("/embed", kBody).body;
  for (int i = 0; i < 3; ++i) {
    const HttpAnswer answer = client.Post("/embed?x=1", kBody);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, expected);
    EXPECT_EQ(answer.Header("content-type"), "application/json");
    EXPECT_FALSE(answer.Header("x-request-id").empty());
  }
  EXPECT_EQ(client.Post("/embed", "{").status, 400);
  EXPECT_EQ(client.Get("/none").status, 404);
  EXPECT_EQ(client.Get("/health").status, 200) << "errors leave the connection in step";
  const HttpAnswer head = client.Get("/health", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("content-length"), "15");
  EXPECT_EQ(client.Get("/health/live").status, 200);
}

TEST(HttpListener, RequestsMayFollowEachOtherUnasked) {
  Loopback loopback;
  HttpClient client(loopback.port());
  const std::string request =
      "POST /embed HTTP/1.1\r\nHost: test\r\nContent-Length: 18\r\n\r\n" + std::string(kBody);
  client.Send(request + request + "GET /health HTTP/1.1\r\nHost: test\r\n\r\n");
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(client.Read("GET").body, "{\"status\":\"ok\"}");
}

TEST(HttpListener, BodiesMayComeInChunks) {
  Loopback loopback;
  HttpClient client(loopback.port());
  client.Send("POST /embed HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\n");
  client.Send("d\r\nuts\":\"water\"}\r\n0\r\n\r\n");
  EXPECT_EQ(client.Read().body, loopback.tiny().Post("/embed", kBody).body);
}

TEST(HttpListener, TellsAClientThatWaitsToGoOn) {
  Loopback loopback;
  HttpClient client(loopback.port());
  client.Send("POST /embed HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 18\r\n\r\n");
  EXPECT_EQ(client.Read().status, 100);
  client.Send(kBody);
  EXPECT_EQ(client.Read().status, 200);
}

TEST(HttpListener, BodiesBeyondTheLimitAreRefusedInJson) {
  HttpOptions options;
  options.payload_limit = 1000;
  Loopback loopback(options);
  const std::string fits = "{\"inputs\":\"" + std::string(987, 'a') + "\"}";
  ASSERT_EQ(fits.size(), 1000u);
  EXPECT_EQ(HttpClient(loopback.port()).Post("/embed", fits).status, 200);
  for (const std::string path : {"/embed", "/v1/embeddings"}) {
    // By its length; to one who waits; and while it streams.
    HttpClient known(loopback.port()), waiting(loopback.port()), streaming(loopback.port());
    known.Send("POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Length: 1001\r\n\r\n" +
               std::string(1001, 'a'));
    waiting.Send("POST " + path +
                 " HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
    streaming.Send("POST " + path + " HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; ++i) streaming.Send("190\r\n" + std::string(400, 'a') + "\r\n");
    for (HttpClient* client : {&known, &waiting, &streaming}) {
      const HttpAnswer answer = client->Read();
      EXPECT_EQ(answer.status, 413);
      EXPECT_EQ(answer.Header("connection"), "close");
      const Json json(answer.body);
      EXPECT_EQ(path == "/embed" ? json.Text("/error_type") : json.Text("/error/code"),
                path == "/embed" ? "Validation" : "payload_too_large");
      EXPECT_TRUE(client->IsClosed());
    }
  }
  EXPECT_EQ(HttpClient(loopback.port()).Post("/embed", kBody).status, 200);
}

TEST(HttpListener, LargeBodiesThatAreRefusedAnywayAreNotWaitedFor) {
  Loopback loopback;
  for (const std::string rest : {"Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"}) {
    HttpClient client(loopback.port());
    client.Send("POST /none HTTP/1.1\r\nHost: test\r\n" + rest);  // and no body
    const HttpAnswer answer = client.Read();
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.Header("connection"), "close");
  }
}

TEST(HttpListener, WhatIsNoHttpIsToldSoInJson) {
  Loopback loopback;
  for (const std::string& bytes :
       {std::string("hello\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n", 15),
        std::string("POST /embed HTTP/1.1\r\nContent-Length: -5\r\n\r\n"),
        std::string("POST /embed HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde"),
        std::string("POST /embed HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nabcde"),
        std::string("POST /embed HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    HttpClient client(loopback.port());
    client.Send(bytes);
    const HttpAnswer answer = client.Read();
    EXPECT_EQ(answer.status, 400) << bytes;
    EXPECT_TRUE(Json(answer.body).Has("/error")) << bytes;
    EXPECT_TRUE(client.IsClosed());
  }
  HttpClient large(loopback.port());
  large.Send("GET /health HTTP/1.1\r\nHost: test\r\nX-Large: " + std::string(20000, 'a') + "\r\n\r\n");
  const HttpAnswer answer = large.Read();
  EXPECT_EQ(answer.status, 431);
  EXPECT_TRUE(Json(answer.body).Has("/error"));
  EXPECT_EQ(HttpClient(loopback.port()).Get("/health").status, 200);
}

TEST(HttpListener, ClosesWhenAsked) {
  Loopback loopback;
  HttpClient client(loopback.port());
  EXPECT_EQ(client.Post("/embed", kBody, "Connection: close\r\n").Header("connection"), "close");
  EXPECT_TRUE(client.IsClosed());
  HttpClient old(loopback.port());
  old.Send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Read().status, 200);
  EXPECT_TRUE(old.IsClosed());
}

TEST(HttpListener, ClientsThatGoAwayLeaveNothingBehind) {
  Loopback loopback;
  std::string many = "{\"inputs\":[\"water\"";
  for (int i = 0; i < 2000; ++i) many += ",\"the small model\"";
  many += "]}";
  for (int i = 0; i < 5; ++i) {
    HttpClient whole(loopback.port()), half(loopback.port());
    whole.Send("POST /embed HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(many.size()) +
               "\r\n\r\n" + many);
    half.Send("POST /embed HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n{");
  }
  // All of their places are free again, and others are served.
  EXPECT_EQ(HttpClient(loopback.port()).Post("/embed", kBody).status, 200);
  EXPECT_TRUE(loopback.tiny().gateway().Drain(std::chrono::minutes(1)));
}

TEST(HttpListener, ManyClientsAtOnceEachGetTheirOwn) {
  Loopback loopback;
  const std::vector<std::string> texts = {"water", "a", "the small model", "Find the way", "no"};
  std::vector<std::string> expected;
  for (const std::string& text : texts)
    expected.push_back(loopback.tiny().Post("/embed", "{\"inputs\":\"" + text + "\"}").body);
  std::vector<std::thread> clients;
  for (size_t c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      HttpClient client(loopback.port());
      for (size_t i = 0; i < 20; ++i) {
        const size_t t = (c + i) % texts.size();
        const HttpAnswer answer = client.Post("/embed", "{\"inputs\":\"" + texts[t] + "\"}");
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.body, expected[t]);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST(HttpListener, EndsEachConnectionWithItsAnswerOnceItIsToEnd) {
  Loopback loopback;
  HttpClient client(loopback.port());
  EXPECT_EQ(client.Get("/health").status, 200);
  loopback.tiny().gateway().Close();
  loopback.listener().StopAccepting();
  const HttpAnswer answer = client.Post("/embed", kBody);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.Header("connection"), "close");
  EXPECT_TRUE(loopback.listener().WaitForAnswers(std::chrono::minutes(1)));
}

TEST(HttpListener, AUnixSocketWillDo) {
  const testing::TemporaryFolder folder;
  HttpOptions options;
  options.uds = folder / "socket";
  {
    Loopback loopback(options);
    EXPECT_EQ(HttpClient(options.uds).Post("/embed", kBody).status, 200);
    auto second = HttpListener::Listen(options, loopback.tiny().gateway());
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.status().message().find(options.uds), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(options.uds)) << "the socket goes with its listener";
  folder.Write("socket", "a file of somebody's");
  TinyGateway tiny("tiny-bert");
  EXPECT_FALSE(HttpListener::Listen(options, tiny.gateway()).ok());
  EXPECT_EQ(folder.Read("socket"), "a file of somebody's");
}

TEST(HttpListener, APortThatIsTakenIsNamed) {
  Loopback loopback;
  HttpOptions options;
  options.port = static_cast<uint16_t>(loopback.port());
  const auto second = HttpListener::Listen(options, loopback.tiny().gateway());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(std::to_string(options.port)), std::string::npos)
      << second.status();
}

}  // namespace
}  // namespace trellis::gateway
