// Requests that are good whatever their shape, to every POST route: in line behind each other, in chunks,
// after a wait for "100 Continue", from old clients and through proxies.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/post_routes.h"

namespace trellis::gateway {
namespace {

std::string Head(const std::string& target, const std::string& headers, const char* version = "HTTP/1.1") {
  return absl::StrCat("POST ", target, " ", version, "\r\nHost: test\r\n", kTestIdHeader, headers, "\r\n");
}
std::string Length(const std::string& body) { return absl::StrCat("Content-Length: ", body.size(), "\r\n"); }

TEST(HttpShapes, RequestsBehindEachOtherAreAnsweredInOrder) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    const std::string body = GoodBody(path), good = Head(path, Length(body)) + body;
    const std::string bad = Head(path, Length("{")) + "{", none = Head(path + "/none", Length(body)) + body;
    HttpClient client(gateway.port());
    client.Send(good + bad + good + none + good);
    for (const int status : {200, 400, 200, 404, 200}) {
      const HttpAnswer answer = client.Read();
      EXPECT_EQ(answer.status, status) << path;
      if (status == 200) {
        EXPECT_EQ(answer.body, gateway.good(path));
      }
    }
    gateway.ExpectGood(client, path);
  }
}

TEST(HttpShapes, Chunks) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    const std::string body = GoodBody(path);
    HttpClient client(gateway.port());
    client.Send(Head(path, "Transfer-Encoding: Chunked\r\n"));
    for (const char c : body) client.Send(absl::StrCat("1;name=\"value\"\r\n", std::string(1, c), "\r\n"));
    client.Send("0\r\ntrailer: is ignored\r\n\r\n");
    EXPECT_EQ(client.Read().body, gateway.good(path));
    gateway.ExpectGood(client, path);
  }
}

TEST(HttpShapes, AByteAtATime) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    const std::string body = GoodBody(path);
    HttpClient client(gateway.port());
    for (const char c : Head(path, Length(body)) + body) client.Send(std::string(1, c));
    EXPECT_EQ(client.Read().body, gateway.good(path));
    gateway.ExpectGood(client, path);
  }
}

TEST(HttpShapes, AClientThatWaitsIsToldToGoOn) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    const std::string body = GoodBody(path);
    HttpClient client(gateway.port());
    client.Send(Head(path, Length(body) + "Expect: 100-Continue\r\n"));
    EXPECT_EQ(client.Read().status, 100);
    client.Send(body);
    EXPECT_EQ(client.Read().body, gateway.good(path));
    // One that has a body of its own mind is told so too, and stays in step.
    client.Send(Head(path, "Content-Length: 1\r\nExpect: 100-continue\r\n") + "{");
    EXPECT_EQ(client.Read().status, 100);
    EXPECT_EQ(client.Read().status, 400);
    gateway.ExpectGood(client, path);
  }
}

TEST(HttpShapes, OldClients) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    const std::string body = GoodBody(path);
    HttpClient once(gateway.port());
    once.Send(Head(path, Length(body), "HTTP/1.0") + body);
    EXPECT_EQ(once.Read().body, gateway.good(path));
    EXPECT_EQ(once.Read().status, 0) << "a second answer";
    // "100 Continue" is unknown to HTTP/1.0, and would be taken for the answer.
    HttpClient waiting(gateway.port());
    waiting.Send(Head(path, Length(body) + "Expect: 100-continue\r\n", "HTTP/1.0") + body);
    EXPECT_EQ(waiting.Read().status, 200);
    // One that asks for the connection to stay must be told that it does.
    HttpClient stays(gateway.port());
    for (int i = 0; i < 2; ++i) {
      stays.Send(Head(path, Length(body) + "Connection: keep-alive\r\n", "HTTP/1.0") + body);
      const HttpAnswer answer = stays.Read();
      EXPECT_EQ(answer.body, gateway.good(path));
      EXPECT_EQ(answer.Header("connection"), "keep-alive");
    }
  }
}

// As clients send it that take us for a proxy; RFC 9112, 3.2.2: it must be understood.
TEST(HttpShapes, TargetsWithAHost) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    const std::string body = GoodBody(path);
    HttpClient client(gateway.port());
    for (const std::string& target :
         {"http://test" + path, "HTTP://test:80" + path + "?a=b", path + "?a=b"}) {
      client.Send(Head(target, Length(body)) + body);
      EXPECT_EQ(client.Read().body, gateway.good(path)) << target;
    }
    client.Send(Head("http://test", Length(body)) + body);
    EXPECT_EQ(client.Read().status, 405) << "the path is /";
  }
}

TEST(HttpShapes, QueriesAreNoPartOfThePath) {
  EveryRoute gateway;
  HttpClient client(gateway.port());
  EXPECT_EQ(client.Get("/health?verbose=1&x=%ff").status, 200);
  EXPECT_EQ(client.Get("/?").status, 200);
  EXPECT_EQ(client.Get("*", "OPTIONS").status, 404);
}

}  // namespace
}  // namespace trellis::gateway
