// What an error's answer must be over HTTP, to the last header.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_HTTP_ERRORS_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_HTTP_ERRORS_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "serve/gateway/routes.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/http_client.h"

namespace trellis::gateway {

// A cell of the table of statuses: what each dialect's clients are told.
struct Told {
  int openai_status = 0, tei_status = 0;
  std::string type, code;  // OpenAI's
  std::string error_type;  // text-embeddings-inference's
};

// The id that requests of these tests have, and that must come back.
inline constexpr const char* kTestId = "the-test-1";
inline constexpr const char* kTestIdHeader = "x-request-id: the-test-1\r\n";

enum class Id { kOurs, kAny };  // any: where the head never arrived

// simdjson takes nothing but well-formed UTF-8, so Json() looks at that too.
inline void ExpectError(const HttpAnswer& answer, Dialect dialect, const Told& told, Id id = Id::kOurs) {
  const int status = dialect == Dialect::kOpenAi ? told.openai_status : told.tei_status;
  ASSERT_EQ(answer.status, status) << answer.head << answer.body;
  EXPECT_EQ(answer.Header("content-type"), "application/json");
  EXPECT_EQ(answer.Header("content-length"), std::to_string(answer.body.size()));
  if (id == Id::kOurs) {
    EXPECT_EQ(answer.Header("x-request-id"), kTestId);
  } else {
    EXPECT_FALSE(answer.Header("x-request-id").empty());
  }
  EXPECT_EQ(answer.Header("retry-after").empty(), status != 429 && status != 503) << answer.head;
  EXPECT_EQ(answer.Header("www-authenticate"), status == 401 ? "Bearer" : "");
  EXPECT_EQ(answer.Header("allow").empty(), status != 405) << answer.head;
  const Json json(answer.body);
  if (dialect == Dialect::kOpenAi) {
    EXPECT_FALSE(json.Text("/error/message").empty());
    EXPECT_EQ(json.Text("/error/type"), told.type) << answer.body;
    EXPECT_EQ(json.Text("/error/code"), told.code) << answer.body;
    EXPECT_TRUE(json.Has("/error/param")) << answer.body;
    EXPECT_FALSE(json.Has("/error_type")) << answer.body;
  } else {
    EXPECT_FALSE(json.Text("/error").empty());
    EXPECT_EQ(json.Text("/error_type"), told.error_type) << answer.body;
  }
}

inline void ExpectError(const HttpAnswer& answer, std::string_view path, const Told& told,
                        Id id = Id::kOurs) {
  SCOPED_TRACE(path);
  ExpectError(answer, DialectOf(path), told, id);
}

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_HTTP_ERRORS_H_
