// JSON out and in, the table of errors, keys, ids and log lines: the parts without a model.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "serve/gateway/access_log.h"
#include "serve/gateway/api_error.h"
#include "serve/gateway/api_keys.h"
#include "serve/gateway/json_body.h"
#include "serve/gateway/json_text.h"
#include "serve/gateway/request_id.h"
#include "serve/gateway/routes.h"
#include "serve/gateway/vectors.h"
#include "tests/serve/gateway/gateway_fixture.h"

namespace trellis::gateway {
namespace {

std::string Written(std::string_view text) {
  std::string out;
  JsonText(out).String(text);
  return out;
}

TEST(JsonText, StringsReadBackAsTheyWere) {
  std::string all;
  for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
  all += "é日本🙂";
  EXPECT_EQ(Json(Written(all)).Text(""), all);
}

TEST(JsonText, BytesThatAreNoUtf8BecomeReplacements) {
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    const std::string back = Json(Written(bad)).Text("");
    EXPECT_NE(back.find("\xef\xbf\xbd"), std::string::npos);
  }
  EXPECT_EQ(Json(Written("a\xff"
                         "b"))
                .Text(""),
            "a\xef\xbf\xbd"
            "b");
}

TEST(JsonText, FloatsReadBackBitForBit) {
  for (const float value :
       {0.f, -0.f, 0.1f, 1e-45f, 3.4028235e38f, -1.17549435e-38f, 16777216.f, 1.0000001f}) {
    std::string out;
    JsonText(out).Float(value);
    const float back = Json("[" + out + "]").Float("/0");
    EXPECT_EQ(std::memcmp(&back, &value, sizeof(value)), 0) << out;
  }
}

TEST(JsonText, Base64IsLittleEndian) {
  std::string out;
  const std::vector<float> values = {1.f, -0.5f, 0.25f, 0.f};
  JsonText(out).Base64(values);
  EXPECT_EQ(out, "\"AACAPwAAAL8AAIA+AAAAAA==\"");
}

TEST(JsonBody, TheFirstFaultStays) {
  JsonBody body(R"({"a":"x","b":5})");
  EXPECT_FALSE(body.Integer("a", 0, 9).has_value());
  EXPECT_FALSE(body.String("b").has_value());
  ASSERT_TRUE(body.error().has_value());
  EXPECT_EQ(body.error()->param, "a");
  EXPECT_EQ(body.error()->fault, Fault::kWrongType);
  EXPECT_NE(body.error()->message.find("\"x\""), std::string::npos);
}

TEST(JsonBody, LongValuesAreQuotedInShort) {
  JsonBody body("{\"a\":\"" + std::string(39, 'x') + "日" + std::string(1000, 'y') + "\"}");
  EXPECT_FALSE(body.Bool("a").has_value());
  EXPECT_LT(body.error()->message.size(), 120u);
  EXPECT_EQ(Json(Written(body.error()->message)).Text(""), body.error()->message) << "cut between characters";
}

TEST(JsonBody, DepthHasALimitThatNoRequestNeeds) {
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_FALSE(JsonBody(nested(20)).error().has_value());
  EXPECT_TRUE(JsonBody(nested(1000)).error().has_value());
}

// The table of statuses, a cell each; written here a second time on purpose.
TEST(ApiErrors, StatusesAreAsTabled) {
  struct Cell {
    Fault fault;
    int openai, tei;
    const char *type, *code, *error_type;
  };
  const std::vector<Cell> table = {
      {Fault::kInvalidJson, 400, 400, "invalid_request_error", "invalid_json", "Validation"},
      {Fault::kInvalidValue, 400, 400, "invalid_request_error", "invalid_value", "Validation"},
      {Fault::kEmptyInput, 400, 400, "invalid_request_error", "empty_input", "Empty"},
      {Fault::kWrongType, 400, 422, "invalid_request_error", "invalid_type", "Validation"},
      {Fault::kTooLong, 400, 422, "invalid_request_error", "context_length_exceeded", "Validation"},
      {Fault::kTooManyInputs, 400, 422, "invalid_request_error", "too_many_inputs", "Validation"},
      {Fault::kPayloadTooLarge, 413, 413, "invalid_request_error", "payload_too_large", "Validation"},
      {Fault::kUnauthorized, 401, 401, "authentication_error", "invalid_api_key", "Unauthorized"},
      {Fault::kModelNotFound, 404, 404, "not_found_error", "model_not_found", "Validation"},
      {Fault::kPathNotFound, 404, 404, "not_found_error", "path_not_found", "Validation"},
      {Fault::kUnsupportedTask, 400, 424, "invalid_request_error", "unsupported_task", "Backend"},
      {Fault::kOverloaded, 429, 429, "rate_limit_error", "overloaded", "Overloaded"},
      {Fault::kNotReady, 503, 503, "unavailable_error", "not_ready", "Unhealthy"},
      {Fault::kDeadline, 504, 504, "timeout_error", "timeout", "Backend"},
      {Fault::kNonFinite, 500, 424, "server_error", "non_finite_output", "Backend"},
      {Fault::kEngine, 500, 424, "server_error", "engine_error", "Backend"},
  };
  for (const Cell& cell : table) {
    const HttpResponse openai = ErrorResponse({cell.fault, "what \"is\" wrong"}, Dialect::kOpenAi);
    EXPECT_EQ(openai.status, cell.openai) << cell.code;
    const Json json(openai.body);
    EXPECT_EQ(json.Text("/error/type"), cell.type) << cell.code;
    EXPECT_EQ(json.Text("/error/code"), cell.code);
    EXPECT_EQ(json.Text("/error/message"), "what \"is\" wrong");
    EXPECT_TRUE(json.At("/error/param").is_null());
    const HttpResponse tei = ErrorResponse({cell.fault, "x"}, Dialect::kTei);
    EXPECT_EQ(tei.status, cell.tei) << cell.code;
    EXPECT_EQ(Json(tei.body).Text("/error_type"), cell.error_type) << cell.code;
    EXPECT_EQ(Json(tei.body).Text("/error"), "x");
    for (const HttpResponse* response : {&openai, &tei}) {
      EXPECT_EQ(Header(*response, "Retry-After").empty(), response->status != 429 && response->status != 503);
      EXPECT_EQ(Header(*response, "WWW-Authenticate"), response->status == 401 ? "Bearer" : "");
    }
  }
  EXPECT_EQ(Header(ErrorResponse({Fault::kOverloaded, "x"}, Dialect::kTei), "Retry-After"), "1");
}

TEST(ApiErrors, WhatAReplicaSays) {
  EXPECT_EQ(FromReplica(absl::ResourceExhaustedError("x")).fault, Fault::kOverloaded);
  EXPECT_EQ(FromReplica(absl::UnavailableError("x")).fault, Fault::kNotReady);
  EXPECT_EQ(FromReplica(absl::DeadlineExceededError("x")).fault, Fault::kDeadline);
  EXPECT_EQ(FromReplica(absl::DataLossError("x")).fault, Fault::kNonFinite);
  EXPECT_EQ(FromReplica(absl::FailedPreconditionError("x")).fault, Fault::kUnsupportedTask);
  EXPECT_EQ(FromReplica(absl::InvalidArgumentError("x")).fault, Fault::kOutOfRange);
  EXPECT_EQ(FromReplica(absl::InternalError("x")).fault, Fault::kEngine);
}

TEST(ApiKeys, AdmitsWhoHasOneOfThem) {
  const ApiKeys keys({"first", "second"});
  EXPECT_TRUE(keys.Admit("Bearer first"));
  EXPECT_TRUE(keys.Admit("bearer second"));
  for (const char* wrong :
       {"", "first", "Bearer", "Bearer ", "Bearer third", "Bearer first ", "Bearer firs", "Basic first"})
    EXPECT_FALSE(keys.Admit(wrong)) << wrong;
  EXPECT_TRUE(ApiKeys({}).Admit(""));
}

TEST(RequestId, IsTheClientsWhereItCanStandInAHeader) {
  EXPECT_EQ(RequestId("abc-1"), "abc-1");
  for (const std::string& wrong :
       {std::string(), std::string("a b"), std::string("a\nb"), std::string("é"), std::string(129, 'a')}) {
    const std::string made = RequestId(wrong);
    EXPECT_TRUE(made.starts_with("req-")) << made;
    EXPECT_EQ(made.size(), 20u);
  }
  EXPECT_NE(RequestId(""), RequestId(""));
}

TEST(AccessLog, IsOneLineWhateverTheClientSent) {
  RequestRecord record;
  record.method = "POST";
  record.path = "/embed\n\"quoted\"";
  record.peer = "127.0.0.1:5";
  record.request_id = "id";
  record.status = 200;
  record.inputs = 2;
  record.tokens = 7;
  for (const LogForm form : {LogForm::kText, LogForm::kJson}) {
    const std::string line = AccessLine(record, form);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  }
  const Json json(AccessLine(record, LogForm::kJson));
  EXPECT_EQ(json.Text("/path"), record.path);
  EXPECT_EQ(json.Integer("/status"), 200);
  EXPECT_EQ(json.Integer("/tokens"), 7);
  EXPECT_TRUE(json.At("/failure").is_null());
  EXPECT_TRUE(json.At("/trace_id").is_null());
}

TEST(AccessLog, NamesFailureAndTrace) {
  RequestRecord record;
  record.fault = Fault::kTooManyInputs;
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const Json json(AccessLine(record, LogForm::kJson));
  EXPECT_EQ(json.Text("/failure"), "batch_size");
  EXPECT_EQ(json.Text("/trace_id"), record.trace_id);
  EXPECT_NE(AccessLine(record, LogForm::kText).find(" failure=batch_size trace=" + record.trace_id + " "),
            std::string::npos);
}

TEST(Routes, PathsAndMethods) {
  ASSERT_TRUE(FindRoute("POST", "/embed").ok());
  ASSERT_TRUE(FindRoute("HEAD", "/health").ok());
  EXPECT_EQ(FindRoute("POST", "/embed/").error().fault, Fault::kPathNotFound);
  EXPECT_EQ(FindRoute("GET", "/embed").error().fault, Fault::kMethodNotAllowed);
  EXPECT_EQ(FindRoute("GET", "/embed").error().param, "POST");
  EXPECT_EQ(DialectOf("/v1/none"), Dialect::kOpenAi);
  EXPECT_EQ(DialectOf("/none"), Dialect::kTei);
  std::set<std::string> paths;
  for (const Route& route : Routes()) EXPECT_TRUE(paths.insert(route.path).second) << route.path;
}

TEST(Vectors, CosineAndShares) {
  const std::vector<float> a = {1, 0}, b = {0, 2}, c = {-3, 0}, none = {0, 0};
  EXPECT_EQ(Cosine(a, a), 1.f);
  EXPECT_EQ(Cosine(a, b), 0.f);
  EXPECT_EQ(Cosine(a, c), -1.f);
  EXPECT_EQ(Cosine(a, none), 0.f);
  EXPECT_EQ(Softmax(std::vector<float>{1000.f, 1000.f}), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(Sigmoid(0), 0.5f);
  EXPECT_EQ(Descending(std::vector<float>{1, 3, 3, 2}), (std::vector<size_t>{1, 2, 3, 0}));
}

}  // namespace
}  // namespace trellis::gateway
