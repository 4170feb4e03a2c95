// POST /v1/embeddings against what sentence-transformers says of the tiny models, and all that a client may
// get wrong in it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/reference_texts.h"

namespace trellis::gateway {
namespace {

constexpr const char* kPath = "/v1/embeddings";

std::vector<float> Decoded(const std::string& base64) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(base64, &bytes)) << base64;
  std::vector<float> values(bytes.size() / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;  // little-endian, spelled out
    for (size_t b = 0; b < 4; ++b) bits |= uint32_t{static_cast<uint8_t>(bytes[4 * i + b])} << (8 * b);
    std::memcpy(&values[i], &bits, sizeof(bits));
  }
  EXPECT_EQ(bytes.size() % sizeof(float), 0u);
  return values;
}

std::string IdList(const std::vector<int32_t>& ids) {
  std::string list;
  for (const int32_t id : ids) absl::StrAppend(&list, list.empty() ? "[" : ",", id);
  return list + "]";
}

TEST(OpenAiEmbeddings, TextsAreAsTheReferenceSays) {
  for (const std::string model : {"tiny-bert", "tiny-m3", "tiny-xlm-roberta-dense"}) {
    TinyGateway tiny(model);
    tiny.Open();
    for (const ReferenceText& text : ReferenceTexts(model)) {
      if (text.text.empty()) continue;  // OpenAI refuses it, and so do we: see below
      const std::string prompt =
          text.prompt_name.empty() ? "" : ",\"prompt_name\":" + Quote(text.prompt_name);
      const HttpResponse response = tiny.Post(kPath, "{\"input\":" + Quote(text.text) + prompt + "}");
      ASSERT_EQ(response.status, 200) << response.body;
      const Json json(response.body);
      ExpectNear(json.Floats("/data/0/embedding"), text.embedding, model + ": " + text.text);
      EXPECT_EQ(json.Integer("/usage/prompt_tokens"), static_cast<int64_t>(text.ids.size())) << text.text;
      EXPECT_EQ(json.Integer("/usage/total_tokens"), static_cast<int64_t>(text.ids.size()));
      EXPECT_EQ(json.Text("/object"), "list");
      EXPECT_EQ(json.Text("/model"), model);
      EXPECT_EQ(json.Text("/data/0/object"), "embedding");
      EXPECT_EQ(json.Integer("/data/0/index"), 0);
    }
  }
}

TEST(OpenAiEmbeddings, ManyTextsKeepTheirOrderOverChunks) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  std::vector<ReferenceText> texts;
  for (const ReferenceText& text : ReferenceTexts("tiny-bert")) {
    if (!text.text.empty() && text.prompt_name.empty()) texts.push_back(text);
  }
  ASSERT_GE(texts.size(), 2u);
  std::string body = "{\"input\":[";
  constexpr size_t kInputs = 2048;
  for (size_t i = 0; i < kInputs; ++i)
    absl::StrAppend(&body, i == 0 ? "" : ",", Quote(texts[i % texts.size()].text));
  const HttpResponse response = tiny.Post(kPath, body + "]}");
  ASSERT_EQ(response.status, 200) << response.body.substr(0, 300);
  const Json json(response.body);
  ASSERT_EQ(json.Size("/data"), kInputs);
  size_t i = 0;
  for (const auto item : json.At("/data").get_array()) {
    ASSERT_EQ(item["index"].get_int64().value(), static_cast<int64_t>(i));
    std::vector<float> values;
    testing::AppendFlat(item["embedding"].value(), values);
    ExpectNear(values, texts[i % texts.size()].embedding, absl::StrCat("input ", i));
    ++i;
  }
}

TEST(OpenAiEmbeddings, Base64HasTheSameBits) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const Json floats(tiny.Post(kPath, R"({"input":"the small model","encoding_format":"float"})").body);
  const Json base64(tiny.Post(kPath, R"({"input":"the small model","encoding_format":"base64"})").body);
  const std::vector<float> decoded = Decoded(base64.Text("/data/0/embedding"));
  EXPECT_EQ(decoded.size(), 36u);
  EXPECT_EQ(decoded, floats.Floats("/data/0/embedding"));
}

TEST(OpenAiEmbeddings, DimensionsAreCutAndThenNormalized) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const std::vector<float> all =
      Json(tiny.Post(kPath, R"({"input":"the small model"})").body).Floats("/data/0/embedding");
  const std::vector<float> cut = Json(tiny.Post(kPath, R"({"input":"the small model","dimensions":5})").body)
                                     .Floats("/data/0/embedding");
  double norm = 0;
  for (size_t i = 0; i < 5; ++i) norm += double{all[i]} * all[i];
  std::vector<float> expected;
  for (size_t i = 0; i < 5; ++i) expected.push_back(static_cast<float>(all[i] / std::sqrt(norm)));
  ExpectNear(cut, expected, "five dimensions");
  for (const char* dimensions : {"0", "37", "-1", "99999999999999999999"}) {
    const HttpResponse wrong =
        tiny.Post(kPath, absl::StrCat(R"({"input":"a","dimensions":)", dimensions, "}"));
    EXPECT_EQ(wrong.status, 400) << dimensions << wrong.body;
  }
}

TEST(OpenAiEmbeddings, TokenIdsGoToTheEngineAsTheyAre) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  for (const ReferenceText& text : ReferenceTexts("tiny-bert")) {
    std::vector<int32_t> inner(text.ids.begin() + 1, text.ids.end() - 1);
    // With the specials, and without them: they are put where they are absent.
    for (const std::vector<int32_t>& ids : {text.ids, inner}) {
      if (ids.empty()) continue;
      // A text that spells </s> at its end looks as if its last special were there.
      if (ids.size() == inner.size() && inner.back() == text.ids.back()) continue;
      const HttpResponse response = tiny.Post(kPath, absl::StrCat("{\"input\":", IdList(ids), "}"));
      ASSERT_EQ(response.status, 200) << response.body;
      const Json json(response.body);
      ASSERT_EQ(json.Size("/data"), 1u);
      ExpectNear(json.Floats("/data/0/embedding"), text.embedding, text.text);
      EXPECT_EQ(json.Integer("/usage/prompt_tokens"), static_cast<int64_t>(text.ids.size()));
    }
  }
  const Json two(tiny.Post(kPath, R"({"input":[[5,6],"a",[7]]})").body);
  EXPECT_EQ(two.Size("/data"), 3u);
  EXPECT_EQ(two.Integer("/usage/prompt_tokens"), 4 + 3 + 3);
}

TEST(OpenAiEmbeddings, WrongTokenIdsAreNamed) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const auto message = [&](const char* input) {
    const HttpResponse response = tiny.Post(kPath, absl::StrCat("{\"input\":", input, "}"));
    EXPECT_EQ(response.status, 400) << input << response.body;
    return Json(response.body).Text("/error/message");
  };
  EXPECT_NE(message("[-1]").find("-1"), std::string::npos);
  EXPECT_NE(message("[5,999999]").find("999999"), std::string::npos);
  EXPECT_NE(message("[[5],[6,999999]]").find("input[1][1]"), std::string::npos);
  EXPECT_NE(message("[99999999999]").find("99999999999"), std::string::npos);
  EXPECT_NE(message("[18446744073709551615]").find("18446744073709551615"), std::string::npos);
  EXPECT_NE(message("[\"a\",5]").find("input[1]"), std::string::npos);
  EXPECT_NE(message("[5,\"a\"]").find("input[1]"), std::string::npos);
  EXPECT_NE(message("[5.5]").find("5.5"), std::string::npos);
  EXPECT_NE(message("[[]]").find("input[0]"), std::string::npos);
  EXPECT_EQ(tiny.Post(kPath, R"({"input":[6,6,6]})").status, 200);  // and it lives
}

TEST(OpenAiEmbeddings, LongTextsAreCutUnlessThatIsRefused) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  std::string longest;
  for (int i = 0; i < 500; ++i) longest += "water ";
  const Json cut(tiny.Post(kPath, "{\"input\":" + Quote(longest) + "}").body);
  EXPECT_EQ(cut.Integer("/usage/prompt_tokens"), 64);
  // A list is cut as a lone string is.
  const Json list(tiny.Post(kPath, "{\"input\":[" + Quote(longest) + "],\"truncate\":true}").body);
  EXPECT_EQ(list.Floats("/data/0/embedding"), cut.Floats("/data/0/embedding"));
  const HttpResponse refused =
      tiny.Post(kPath, "{\"input\":[\"a\"," + Quote(longest) + "],\"truncate\":false}");
  ExpectOpenAiError(refused, 400, "invalid_request_error", "context_length_exceeded");
  EXPECT_NE(Json(refused.body).Text("/error/message").find("input[1]"), std::string::npos) << refused.body;
}

TEST(OpenAiEmbeddings, TheDefaultPromptIsInFrontOnceAndInsideTheLimit) {
  TinyGateway plain("tiny-bert");
  plain.Open();
  TinyGateway prompted("tiny-bert",
                       [](TestOptions& options) { options.gateway.policy.default_prompt = "query: "; });
  prompted.Open();
  const auto vector = [&](TinyGateway& tiny, const std::string& text) {
    return Json(tiny.Post(kPath, "{\"input\":" + Quote(text) + "}").body).Floats("/data/0/embedding");
  };
  EXPECT_EQ(vector(prompted, "water"), vector(plain, "query: water"));
  EXPECT_EQ(vector(prompted, "query: water"), vector(plain, "query: query: water"));
  EXPECT_NE(vector(prompted, "query: water"), vector(plain, "query: water"));
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "water ";
  EXPECT_EQ(vector(prompted, longest), vector(plain, "query: " + longest));
  const HttpResponse unknown = plain.Post(kPath, R"({"input":"a","prompt_name":"none"})");
  ExpectOpenAiError(unknown, 400, "invalid_request_error", "invalid_value");
  EXPECT_NE(unknown.body.find("passage"), std::string::npos)
      << "names those that there are: " << unknown.body;
}

TEST(OpenAiEmbeddings, TheShieldKeepsSpecialTokensOutOfTexts) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const auto tokens = [&](const char* extra) {
    return Json(tiny.Post(kPath, absl::StrCat(R"({"input":"<pad> in <s> text </s>")", extra, "}")).body)
        .Integer("/usage/prompt_tokens");
  };
  EXPECT_EQ(tokens(""), tokens(R"(,"match_special_tokens":true)"));
  EXPECT_GT(tokens(R"(,"match_special_tokens":false)"), tokens(""));
}

TEST(OpenAiEmbeddings, EmptyInputsAreNamed) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  for (const char* input : {"[]", "\"\"", "[\"a\",\"\"]"}) {
    const HttpResponse response = tiny.Post(kPath, absl::StrCat("{\"input\":", input, "}"));
    ExpectOpenAiError(response, 400, "invalid_request_error", "empty_input");
  }
  EXPECT_NE(tiny.Post(kPath, R"({"input":["a",""]})").body.find("input[1]"), std::string::npos);
  // One blank is a text: the reference gives it the specials alone.
  const Json blank(tiny.Post(kPath, R"({"input":" "})").body);
  EXPECT_EQ(blank.Integer("/usage/prompt_tokens"), 2);
}

TEST(OpenAiEmbeddings, WhatIsMalformedIsNamed) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const auto expect = [&](const std::string& body, const std::string& code) {
    SCOPED_TRACE(body.substr(0, 60));
    ExpectOpenAiError(tiny.Post(kPath, body), 400, "invalid_request_error", code);
  };
  expect("", "invalid_json");
  expect("{", "invalid_json");
  expect("{\"input\":\"\xff\"}", "invalid_json");
  expect("{\"input\":\"\\ud800\"}", "invalid_json");
  expect(std::string(100000, '['), "invalid_json");
  expect(R"({"input":"a"} x)", "invalid_json");
  expect("{}", "invalid_value");
  expect(R"({"input":null})", "invalid_value");
  expect(R"({"input":"a","encoding_format":"md5"})", "invalid_value");
  expect(R"({"input":"a","truncation_direction":"Up"})", "invalid_value");
  expect("[]", "invalid_type");
  expect(R"({"input":5})", "invalid_type");
  expect(R"({"input":{"a":1}})", "invalid_type");
  expect(R"({"input":[null]})", "invalid_type");
  expect(R"({"input":"a","encoding_format":5})", "invalid_type");
  expect(R"({"input":"a","dimensions":"5"})", "invalid_type");
  expect(R"({"input":"a","truncate":"yes"})", "invalid_type");
  expect(R"({"input":"a","model":5})", "invalid_type");
  expect(R"({"input":[5],"prompt_name":"query"})", "invalid_value");
}

TEST(OpenAiEmbeddings, WhatMayBeThereOrNot) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const std::string plain = tiny.Post(kPath, R"({"input":"water"})").body;
  for (const char* body : {R"({"input":"water","user":"me","unknown":[1,{}]})",
                           R"({"input":"water","encoding_format":null,"dimensions":null,"model":null})",
                           R"({"input":"a","input":"water"})",   // the last one counts
                           "\xef\xbb\xbf{\"input\":\"water\"}",  // a byte order mark
                           R"({"input":"water","model":"tiny-bert"})"}) {
    EXPECT_EQ(tiny.Post(kPath, body).body, plain) << body;
  }
  EXPECT_EQ(tiny.Post("/embeddings", R"({"input":"water"})").body, plain);
}

TEST(OpenAiEmbeddings, AnUnknownModelIsNotFoundUnlessAnyNameWillDo) {
  TinyGateway tiny("tiny-bert");
  tiny.Open();
  const std::string body = R"({"input":"a","model":"text-embedding-3-small"})";
  ExpectOpenAiError(tiny.Post(kPath, body), 404, "not_found_error", "model_not_found");
  TinyGateway any("tiny-bert", [](TestOptions& options) {
    options.gateway.policy.model_name = RequestPolicy::ModelName::kAny;
  });
  EXPECT_EQ(any.Open().Post(kPath, body).status, 200);
}

TEST(OpenAiEmbeddings, TooManyInputs) {
  TinyGateway tiny("tiny-bert", [](TestOptions& options) { options.gateway.policy.max_client_batch = 3; });
  tiny.Open();
  EXPECT_EQ(tiny.Post(kPath, R"({"input":["a","a","a"]})").status, 200);
  ExpectOpenAiError(tiny.Post(kPath, R"({"input":["a","a","a","a"]})"), 400, "invalid_request_error",
                    "too_many_inputs");
}

TEST(OpenAiEmbeddings, AModelThatDoesNotEmbed) {
  TinyGateway tiny("tiny-reranker");
  tiny.Open();
  ExpectOpenAiError(tiny.Post(kPath, R"({"input":"a"})"), 400, "invalid_request_error", "unsupported_task");
}

}  // namespace
}  // namespace trellis::gateway
