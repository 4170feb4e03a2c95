// The table of statuses, a cell a test, as clients see it over HTTP: on a route of each dialect the status,
// the error's names, the headers, and a body that is JSON. What the table is, is written here a second time
// on purpose; its first writing is serve/gateway/api_error.cc.
#include "tests/serve/gateway/status_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::gateway {
namespace {

constexpr const char* kInvalid = "invalid_request_error";

TEST(StatusTable, BadJson) {
  Loopback loopback;
  ExpectTold(loopback, "\"a\"", ",", {400, 400, kInvalid, "invalid_json", "Validation"});
}

TEST(StatusTable, BadUtf8) {
  Loopback loopback;
  ExpectTold(loopback, "\"\xc3\"", "", {400, 400, kInvalid, "invalid_json", "Validation"});
}

TEST(StatusTable, AMissingField) {
  Loopback loopback;
  ExpectTold(loopback, "null", "", {400, 400, kInvalid, "invalid_value", "Validation"});
}

TEST(StatusTable, AnUnknownName) {
  Loopback loopback;
  ExpectTold(loopback, "\"a\"", ",\"truncation_direction\":\"Up\"",
             {400, 400, kInvalid, "invalid_value", "Validation"});
  HttpClient client(loopback.port());
  ExpectError(client.Post(kOpenAiPath, R"({"input":"a","encoding_format":"md5"})", kTestIdHeader),
              kOpenAiPath, {400, 400, kInvalid, "invalid_value", "Validation"});
}

TEST(StatusTable, ANumberOutOfRange) {
  Loopback loopback;
  ExpectTold(loopback, "\"a\"", ",\"dimensions\":0", {400, 422, kInvalid, "invalid_value", "Validation"});
}

TEST(StatusTable, EmptyInput) {
  Loopback loopback;
  const Told told = {400, 400, kInvalid, "empty_input", "Empty"};
  for (const char* empty : {"[]", "\"\"", "[\"a\",\"\"]", "[[]]"}) ExpectTold(loopback, empty, "", told);
  HttpClient client(loopback.port());
  for (const char* path : {kOpenAiPath, kTeiPath}) {
    const std::string body = client.Post(path, BodyFor(path, R"(["a","b",""])")).body;
    EXPECT_NE(body.find("[2]"), std::string::npos) << "names the place: " << body;
  }
}

TEST(StatusTable, AWrongType) {
  Loopback loopback;
  ExpectTold(loopback, "5", "", {400, 422, kInvalid, "invalid_type", "Validation"});
  ExpectTold(loopback, "\"a\"", ",\"normalize\":\"yes\"", {400, 422, kInvalid, "invalid_type", "Validation"});
}

TEST(StatusTable, TooLong) {
  Loopback loopback;  // 64 tokens at most
  ExpectTold(loopback, ManyWords(100), ",\"truncate\":false",
             {400, 422, kInvalid, "context_length_exceeded", "Validation"});
}

TEST(StatusTable, TooManyInputs) {
  Loopback loopback("tiny-bert", [](TestOptions& options) { options.gateway.policy.max_client_batch = 2; });
  const Told told = {400, 422, kInvalid, "too_many_inputs", "Validation"};
  ExpectTold(loopback, R"(["a","b","c"])", "", told);
  // Counted before they are read: what is too much is not kept first.
  ExpectTold(loopback, R"(["a","b",{}])", "", told);
}

TEST(StatusTable, TooManyInputsOfOtherRoutes) {
  Loopback loopback("tiny-bert", [](TestOptions& options) {
    options.synthetic = "vocab=272,max_row_tokens=64";
    options.gateway.policy.max_client_batch = 2;
  });
  HttpClient client(loopback.port());
  for (const auto& [path, body] :
       {std::pair{"/rerank", R"({"query":"q","texts":["a","b",{}]})"},
        {"/v1/rerank", R"({"query":"q","documents":["a","b",{}]})"},
        {"/predict", R"({"inputs":[["a"],["b"],{}]})"},
        {"/v1/score", R"({"text_1":"q","text_2":["a","b",{}]})"},
        {"/similarity", R"({"inputs":{"source_sentence":"a","sentences":["b","c"]}})"},
        {"/tokenize", R"({"inputs":["a","b",{}]})"},
        {"/decode", R"({"ids":[[5],[5],{}]})"}})
    ExpectError(client.Post(path, body, kTestIdHeader), path,
                {400, 422, kInvalid, "too_many_inputs", "Validation"});
}

TEST(StatusTable, ABodyOverTheLimit) {
  HttpOptions http;
  http.payload_limit = 100;
  Loopback loopback(http);
  for (const char* path : {kOpenAiPath, kTeiPath}) {
    HttpClient client(loopback.port());
    const HttpAnswer answer = client.Post(path, BodyFor(path, ManyWords(30)), kTestIdHeader);
    ExpectError(answer, path, {413, 413, kInvalid, "payload_too_large", "Validation"});
    EXPECT_EQ(answer.Header("connection"), "close");
  }
}

TEST(StatusTable, HeadersOverTheLimit) {
  Loopback loopback;
  for (const char* path : {kOpenAiPath, kTeiPath}) {
    HttpClient client(loopback.port());
    ExpectError(client.Post(path, BodyFor(path, "\"a\""),
                            absl::StrCat(kTestIdHeader, "x-more: ", std::string(20000, 'a'), "\r\n")),
                path, {431, 431, kInvalid, "headers_too_large", "Validation"});
  }
}

TEST(StatusTable, NoKeyOrAWrongOne) {
  Loopback loopback("tiny-bert", [](TestOptions& options) { options.gateway.api_keys = {"secret"}; });
  const Told told = {401, 401, "authentication_error", "invalid_api_key", "Unauthorized"};
  HttpClient client(loopback.port());
  for (const char* path : {kOpenAiPath, kTeiPath}) {
    const std::string body = BodyFor(path, "\"a\"");
    ExpectError(client.Post(path, body, kTestIdHeader), path, told);
    for (const char* key : {"Bearer other", "Basic secret", "secret", "Bearer secret, Bearer secret"}) {
      ExpectError(client.Post(path, body, absl::StrCat(kTestIdHeader, "Authorization: ", key, "\r\n")), path,
                  told);
    }
    EXPECT_EQ(client.Post(path, body, "Authorization: Bearer secret\r\n").status, 200);
  }
}

TEST(StatusTable, AnUnknownModel) {
  Loopback loopback("tiny-reranker");
  const Told told = {404, 404, "not_found_error", "model_not_found", "Validation"};
  HttpClient client(loopback.port());
  for (const char* path : {"/v1/rerank", "/rerank"}) {
    ExpectError(client.Post(path, R"({"query":"q","documents":["a"],"model":"none"})", kTestIdHeader), path,
                told);
  }
}

TEST(StatusTable, AnUnknownPath) {
  Loopback loopback;
  const Told told = {404, 404, "not_found_error", "path_not_found", "Validation"};
  HttpClient client(loopback.port());
  for (const char* path : {"/v1/none", "/none", "/embed/", "/EMBED", "/embed%00", "//embed", "/v1/\xff"})
    ExpectError(client.Post(path, "{}", kTestIdHeader), path, told);
}

TEST(StatusTable, AnotherMethod) {
  Loopback loopback;
  const Told told = {405, 405, kInvalid, "method_not_allowed", "Validation"};
  HttpClient client(loopback.port());
  for (const char* path : {kOpenAiPath, kTeiPath}) {
    for (const char* method : {"GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"}) {
      client.Send(absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: test\r\n", kTestIdHeader, "\r\n"));
      const HttpAnswer answer = client.Read();
      ExpectError(answer, path, told);
      EXPECT_EQ(answer.Header("allow"), "POST");
    }
  }
  for (const char* path : {"/v1/models", "/info"}) {
    const HttpAnswer answer = client.Post(path, "{}", kTestIdHeader);
    ExpectError(answer, path, told);
    EXPECT_EQ(answer.Header("allow"), "GET");
  }
}

TEST(StatusTable, AnotherMediaType) {
  Loopback loopback;
  HttpClient client(loopback.port());
  for (const char* path : {kOpenAiPath, kTeiPath}) {
    const std::string body = BodyFor(path, "\"a\"");
    client.Send(absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: test\r\nContent-Type: text/plain\r\n",
                             kTestIdHeader, "Content-Length: ", body.size(), "\r\n\r\n", body));
    ExpectError(client.Read(), path, {415, 415, kInvalid, "unsupported_media_type", "Validation"});
  }
}

TEST(StatusTable, AnotherKindOfModel) {
  Loopback loopback("tiny-reranker");
  ExpectTold(loopback, "\"a\"", "", {400, 424, kInvalid, "unsupported_task", "Backend"});
}

}  // namespace
}  // namespace trellis::gateway
