// Bytes that are no HTTP, or HTTP that two readers may read in two ways, to every POST route: each is told so
// in JSON or is hung up on, nothing of it is taken for another request, and the next client is served.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/serve/gateway/post_routes.h"

namespace trellis::gateway {
namespace {

constexpr const char* kInvalid = "invalid_request_error";
const Told kInvalidHttp = {400, 400, kInvalid, "invalid_http", "Validation"};

// Bytes that follow a message which is over, or should be. Taken for a request of its own they would be
// answered with 404.
constexpr const char* kSmuggled = "GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n";

std::string For(const std::string& path, const char* request) {
  return absl::StrReplaceAll(request, {{"PATH", path}, {"ID", kTestIdHeader}});
}

// One answer, then the end of the connection: what followed was not looked at.
void ExpectRefusedAndClosed(EveryRoute& gateway, const std::string& path, const std::string& bytes, Id id) {
  SCOPED_TRACE(bytes.substr(0, 120));
  HttpClient client(gateway.port());
  client.Send(bytes + kSmuggled);
  const HttpAnswer answer = client.Read();
  // Where the first line was no request, there is no path that could tell the dialect.
  ExpectError(answer, id == Id::kOurs ? DialectOf(path) : Dialect::kTei, kInvalidHttp, id);
  EXPECT_EQ(answer.Header("connection"), "close");
  EXPECT_EQ(client.Read().status, 0) << "a second answer";
}

TEST(MalformedHttp, FirstLines) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    for (const char* line :
         {"POST PATH\r\n\r\n", "POST\r\n\r\n", "\r\n\r\n", " POST PATH HTTP/1.1\r\n\r\n",
          "POST  PATH HTTP/1.1\r\n\r\n", "PO(ST PATH HTTP/1.1\r\n\r\n", "POST PATH HTTP/1.1 \r\n\r\n",
          "POST PATH HTTP/9.9\r\n\r\n", "POST PATH HTTP/1\r\n\r\n", "POST PATH http/1.1\r\n\r\n",
          "POST PATH HTTP/1.1\nHost: test\n\n", "POST PATH\t HTTP/1.1\r\n\r\n",
          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
      ExpectRefusedAndClosed(gateway, path, For(path, line), Id::kAny);
    }
    ExpectRefusedAndClosed(gateway, path, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
                           Id::kAny);
    gateway.ExpectGood(path);
  }
}

TEST(MalformedHttp, HeaderLines) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    for (const char* line : {"no colon\r\n", ": no name\r\n", "a b: c\r\n", "Content-Length : 5\r\n",
                             "a\x01: b\r\n", "a: b\x01\r\n", "a: b\nc: d\r\n"}) {
      // The id stands in front, so that it had arrived.
      ExpectRefusedAndClosed(gateway, path, absl::StrCat(For(path, "POST PATH HTTP/1.1\r\nID"), line, "\r\n"),
                             Id::kOurs);
    }
    gateway.ExpectGood(path);
  }
}

// What says in two ways, or in none that is known, how long the body is.
TEST(MalformedHttp, Lengths) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    for (const char* lines : {"Content-Length: abc\r\n",
                              "Content-Length: -5\r\n",
                              "Content-Length: +5\r\n",
                              "Content-Length: 0x5\r\n",
                              "Content-Length: 5 5\r\n",
                              "Content-Length: 5, 6\r\n",
                              "Content-Length:\r\n",
                              "Content-Length: 18446744073709551616\r\n",
                              "Content-Length: 5\r\nContent-Length: 6\r\n",
                              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                              "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                              "Transfer-Encoding: gzip\r\n",
                              "Transfer-Encoding: identity\r\n",
                              "Transfer-Encoding: gzip, chunked\r\n",
                              "Transfer-Encoding: chunked, gzip\r\n",
                              "Transfer-Encoding: chunked, chunked\r\n",
                              "Transfer-Encoding: xchunked\r\n",
                              "Transfer-Encoding:\r\n",
                              "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                              "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"}) {
      ExpectRefusedAndClosed(gateway, path,
                             absl::StrCat(For(path, "POST PATH HTTP/1.1\r\nHost: test\r\nID"), lines, "\r\n"),
                             Id::kOurs);
    }
    // HTTP/1.0 has no chunks.
    ExpectRefusedAndClosed(gateway, path,
                           For(path, "POST PATH HTTP/1.0\r\nIDTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                           Id::kOurs);
    gateway.ExpectGood(path);
  }
}

TEST(MalformedHttp, Chunks) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    for (const char* chunks :
         {"zz\r\n", "-1\r\n", "\r\n", "fffffffffffffffff\r\n", "5\r\nabcdeX\r\n", "5\nabcde\r\n",
          "5\r\nabcde\n0\n\n", "0x5\r\nabcde\r\n", "1\r\n{\r\n0\r\nno colon\r\n\r\n"}) {
      ExpectRefusedAndClosed(
          gateway, path,
          absl::StrCat(For(path, "POST PATH HTTP/1.1\r\nHost: test\r\nIDTransfer-Encoding: chunked\r\n\r\n"),
                       chunks),
          Id::kOurs);
    }
    gateway.ExpectGood(path);
  }
}

TEST(MalformedHttp, ABodyThatEndsTooSoon) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    for (const char* request :
         {"POST PATH HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{\"in",
          "POST PATH HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"i",
          "POST PATH HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\n",
          "POST PATH HTT"}) {
      HttpClient client(gateway.port());
      client.Send(For(path, request));
      client.EndSending();
      EXPECT_EQ(client.Read().status, 0) << path << ": half a request is not served";
    }
    gateway.ExpectGood(path);
  }
}

TEST(MalformedHttp, HeadersBeyondTheLimit) {
  EveryRoute gateway;
  std::string many;
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&many, "x-", i, ": ", i, "\r\n");
  const Told told = {431, 431, kInvalid, "headers_too_large", "Validation"};
  for (const std::string& path : PostRoutes()) {
    const std::string line = For(path, "POST PATH HTTP/1.1\r\nHost: test\r\nID");
    for (const std::string& headers :
         {many, "x: " + std::string(20000, 'a') + "\r\n", std::string(1000000, 'a')}) {
      HttpClient client(gateway.port());
      client.Send(line + headers + "\r\n");
      ExpectError(client.Read(), path, told);
      EXPECT_TRUE(client.IsClosed());
    }
    HttpClient client(gateway.port());
    client.Send("POST " + path + "?" + std::string(20000, 'a') + " HTTP/1.1\r\nHost: test\r\n\r\n");
    ExpectError(client.Read(), Dialect::kTei, told, Id::kAny);
    gateway.ExpectGood(path);
  }
}

TEST(MalformedHttp, BodiesBeyondTheLimit) {
  HttpOptions http;
  http.payload_limit = 1000;
  EveryRoute gateway(http);
  const Told told = {413, 413, kInvalid, "payload_too_large", "Validation"};
  std::string chunks;
  for (int i = 0; i < 3; ++i) chunks += "190\r\n" + std::string(400, ' ') + "\r\n";
  for (const std::string& path : PostRoutes()) {
    for (const std::string& rest : {std::string("Content-Length: 1001\r\n\r\n"),
                                    std::string("Content-Length: 18446744073709551615\r\n\r\n"),
                                    std::string("Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n"),
                                    "Transfer-Encoding: chunked\r\n\r\n" + chunks,
                                    std::string("Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n")}) {
      SCOPED_TRACE(rest.substr(0, 60));
      HttpClient client(gateway.port());
      client.Send(For(path, "POST PATH HTTP/1.1\r\nHost: test\r\nID") + rest);
      ExpectError(client.Read(), path, told);
      EXPECT_EQ(client.Read().status, 0);
    }
    gateway.ExpectGood(path);
  }
}

}  // namespace
}  // namespace trellis::gateway
