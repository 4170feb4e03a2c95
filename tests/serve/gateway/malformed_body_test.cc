// Bodies that are no JSON, or JSON that readers disagree on, to every POST route over one connection: the
// status, an error in JSON, and the next request served as ever.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/post_routes.h"

namespace trellis::gateway {
namespace {

constexpr const char* kInvalid = "invalid_request_error";
const Told kInvalidJson = {400, 400, kInvalid, "invalid_json", "Validation"};

// The route's good body with one more field in front, which no route has.
std::string With(const std::string& field, const std::string& path) {
  return "{\"more\":" + field + "," + GoodBody(path).substr(1);
}

TEST(MalformedBody, WhatIsNoJson) {
  EveryRoute gateway;
  const std::string bodies[] = {"",
                                " \t\r\n",
                                "{",
                                "}",
                                "{]",
                                "{\"a\"",
                                "{\"a\":",
                                "{\"a\":1",
                                "{\"a\":1,",
                                "{\"a\":1,}",
                                "{\"a\":[1,]}",
                                "{'a':1}",
                                "{a:1}",
                                "{\"a\":1}/**/",
                                "{\"a\":1} x",
                                "{}{}",
                                "{\"a\":undefined}",
                                "{\"a\":nul}",
                                "{\"a\":\"",
                                "{\"a\":\"\\x\"}",
                                "{\"a\":\"\\u12\"}",
                                "{\"a\":\"\n\"}",
                                "nul",
                                "\xef\xbb\xbf",
                                "\xef\xbb\xbf\xef\xbb\xbf{}",
                                std::string("\xff\xfe{\0}\0", 6),
                                std::string("{}\0", 3),
                                std::string("\0", 1),
                                "\x1f\x8b\x08"};
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    for (const std::string& body : bodies) {
      SCOPED_TRACE(body);
      ExpectError(client.Post(path, body, kTestIdHeader), path, kInvalidJson);
    }
    gateway.ExpectGood(client, path);
  }
}

TEST(MalformedBody, BytesThatAreNoUtf8) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    for (const char* bytes : {"\xff", "\x80", "\xc3", "\xe2\x82", "\xc0\x80", "\xed\xa0\x80",
                              "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
      SCOPED_TRACE(bytes);
      const std::string in_text = With(absl::StrCat("\"", bytes, "\""), path);
      ExpectError(client.Post(path, in_text, kTestIdHeader), path, kInvalidJson);
      ExpectError(client.Post(path, absl::StrCat("{\"", bytes, "\":1}"), kTestIdHeader), path, kInvalidJson);
      ExpectError(client.Post(path, GoodBody(path) + bytes, kTestIdHeader), path, kInvalidJson);
    }
    gateway.ExpectGood(client, path);
  }
}

TEST(MalformedBody, Surrogates) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    for (const char* lone :
         {R"("\ud800")", R"("\udc00")", R"("\ud800a")", R"("\ud800\u0041")", R"("\udc00\ud800")"})
      ExpectError(client.Post(path, With(lone, path), kTestIdHeader), path, kInvalidJson);
    EXPECT_EQ(client.Post(path, With(R"("\ud83d\ude42")", path), kTestIdHeader).body, gateway.good(path));
  }
}

TEST(MalformedBody, NulBytes) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    const std::string raw = With(std::string("\"a\0b\"", 5), path);
    ExpectError(client.Post(path, raw, kTestIdHeader), path, kInvalidJson);
    EXPECT_EQ(client.Post(path, With(R"("a\u0000b")", path), kTestIdHeader).body, gateway.good(path));
  }
}

TEST(MalformedBody, DepthThatNoRequestNeeds) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    const size_t deep = 100000;
    std::string objects;
    for (size_t i = 0; i < deep; ++i) objects += "{\"a\":";
    for (const std::string& body : {std::string(deep, '['), std::string(deep, '{'), objects,
                                    With(std::string(deep, '[') + std::string(deep, ']'), path),
                                    With(objects + "1" + std::string(deep, '}'), path)}) {
      ExpectError(client.Post(path, body, kTestIdHeader), path, kInvalidJson);
    }
    EXPECT_EQ(client.Post(path, With("[[[[[{\"a\":[{}]}]]]]]", path), kTestIdHeader).body,
              gateway.good(path));
  }
}

TEST(MalformedBody, Numbers) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    for (const std::string& number :
         {std::string("1e999"), std::string("-1e999"), std::string("1e"), std::string("01"),
          std::string(".5"), std::string("+1"), std::string("1."), std::string("0x10"), std::string("NaN"),
          std::string("Infinity"), std::string("--1"), std::string(10000, '9')}) {
      SCOPED_TRACE(number.substr(0, 20));
      ExpectError(client.Post(path, With(number, path), kTestIdHeader), path, kInvalidJson);
    }
    for (const char* number : {"1e-999", "-0", "1E+2", "18446744073709551615", "-9223372036854775808"})
      EXPECT_EQ(client.Post(path, With(number, path), kTestIdHeader).body, gateway.good(path)) << number;
  }
}

TEST(MalformedBody, WhatIsNoObject) {
  EveryRoute gateway;
  const Told told = {400, 422, kInvalid, "invalid_type", "Validation"};
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    for (const char* body : {"[]", "null", "\"a\"", "5", "1.5", "true", "[{}]"})
      ExpectError(client.Post(path, body, kTestIdHeader), path, told);
    gateway.ExpectGood(client, path);
  }
}

TEST(MalformedBody, NothingThatIsNeeded) {
  EveryRoute gateway;
  const Told told = {400, 400, kInvalid, "invalid_value", "Validation"};
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    ExpectError(client.Post(path, "{}", kTestIdHeader), path, told);
    ExpectError(client.Post(path, R"({"":"","INPUT":"a","Inputs":"a"})", kTestIdHeader), path, told);
    gateway.ExpectGood(client, path);
  }
}

// Rules where readers differ: the last of equal keys counts, and a byte order mark is skipped.
TEST(MalformedBody, KeysThatComeTwiceAndMarksInFront) {
  EveryRoute gateway;
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    const std::string good = GoodBody(path), key = good.substr(1, good.find(':'));
    EXPECT_EQ(client.Post(path, "{" + key + "5," + good.substr(1), kTestIdHeader).body, gateway.good(path));
    const std::string last_is_wrong = good.substr(0, good.size() - 1) + "," + key + "5}";
    EXPECT_NE(client.Post(path, last_is_wrong, kTestIdHeader).status, 200) << path;
    EXPECT_EQ(client.Post(path, "\xef\xbb\xbf" + good, kTestIdHeader).body, gateway.good(path));
    EXPECT_EQ(client.Post(path, "\xef\xbb\xbf \r\n\t" + good + "\n", kTestIdHeader).body, gateway.good(path));
  }
}

TEST(MalformedBody, MediaTypes) {
  EveryRoute gateway;
  const Told told = {415, 415, kInvalid, "unsupported_media_type", "Validation"};
  for (const std::string& path : PostRoutes()) {
    HttpClient client(gateway.port());
    const auto send = [&](const std::string& type, const std::string& body) {
      client.Send(absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: test\r\n", kTestIdHeader, type,
                               "Content-Length: ", body.size(), "\r\n\r\n", body));
      return client.Read();
    };
    const std::string good = GoodBody(path);
    for (const char* type :
         {"text/plain", "text/json", "application/jsonx", "multipart/form-data; boundary=x",
          "application/x-www-form-urlencoded", "application/msgpack", "\xff\xfe"})
      ExpectError(send(absl::StrCat("Content-Type: ", type, "\r\n"), good), path, told);
    for (const char* type : {"", "Content-Type:\r\n", "Content-Type: application/json\r\n",
                             "Content-Type: APPLICATION/JSON ; charset=UTF-8\r\n"})
      EXPECT_EQ(send(type, good).body, gateway.good(path)) << type;
    gateway.ExpectGood(client, path);
  }
}

}  // namespace
}  // namespace trellis::gateway
