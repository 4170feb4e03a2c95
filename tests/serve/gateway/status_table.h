// The same request to a route of each dialect, and what both must say.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_STATUS_TABLE_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_STATUS_TABLE_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/http_errors.h"
#include "tests/serve/gateway/loopback.h"

namespace trellis::gateway {

inline constexpr const char* kOpenAiPath = "/v1/embeddings";
inline constexpr const char* kTeiPath = "/embed";

// `input`: a JSON value; `more`: further fields, each after a comma.
inline std::string BodyFor(std::string_view path, std::string_view input, std::string_view more = "") {
  return absl::StrCat(path == kOpenAiPath ? "{\"input\":" : "{\"inputs\":", std::string(input),
                      std::string(more), "}");
}

inline void ExpectTold(Loopback& loopback, std::string_view input, std::string_view more, const Told& told) {
  HttpClient client(loopback.port());
  for (const char* path : {kOpenAiPath, kTeiPath})
    ExpectError(client.Post(path, BodyFor(path, input, more), kTestIdHeader), path, told);
  // In step still, on the same connection.
  EXPECT_EQ(client.Get("/health/live").status, 200);
}

inline std::string ManyWords(size_t words) {
  std::string text = "\"";
  for (size_t i = 0; i < words; ++i) text += "water ";
  return text + "\"";
}

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_STATUS_TABLE_H_
