// Public bug reports against servers like this one, the right behaviour each: what has to do with how long a
// text may be. Named by the number in our list and by their source. Ids are those of `tokenizers` 0.22.2.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/mirror_model.h"
#include "tests/serve/gateway/real_model.h"

namespace trellis::gateway {
namespace {

// first, first + 1, ... of `count` numbers
Ids From(int32_t first, size_t count) {
  Ids numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// All ids of a text, from the route that cuts nothing.
Ids AllIds(TinyGateway& gateway, const std::string& text) {
  const Json json(gateway.Post("/tokenize", "{\"inputs\":" + text + "}").body);
  Ids ids;
  for (const auto token : json.At("/0").get_array())
    ids.push_back(static_cast<int32_t>(token["id"].get_int64().value()));
  return ids;
}

// The first `most` of them, as the reference cuts: what is kept, then </s>.
Ids Cut(Ids ids, size_t most) {
  ids.resize(most - 1);
  ids.push_back(2);
  return ids;
}

// text-embeddings-inference#94: vectors of texts of exactly the most tokens drift. The large model's weights
// are replaced by ones that show ids and positions.
TEST(ReportedLengths, B1ExactlyTheMostTokensOfXlmR) {
  const MirrorModel model(514);
  TinyGateway gateway(model.path());
  gateway.Open();
  const HttpResponse response =
      gateway.Post("/embed_all", "{\"truncate\":false,\"inputs\":" + Times(510, "Car") + "}");
  ASSERT_EQ(response.status, 200) << response.body.substr(0, 300);
  const MirrorModel::Seen seen = model.Read(Json(response.body), "/0");
  ASSERT_EQ(seen.ids.size(), 512u);
  EXPECT_EQ(seen.positions, From(2, 512)) << "2 to 513";
  EXPECT_EQ(seen.ids.front(), 0);
  EXPECT_EQ(seen.ids.back(), 2);
  EXPECT_EQ(Ids(seen.ids.begin() + 1, seen.ids.end() - 1), Ids(510, seen.ids[1]));
  // One more is cut to the same, or refused with both numbers.
  const std::string more = "\"inputs\":" + Times(511, "Car") + "}";
  EXPECT_EQ(gateway.Post("/embed_all", "{" + more).body, response.body);
  const HttpResponse refused = gateway.Post("/embed_all", "{\"truncate\":false," + more);
  ExpectTeiError(refused, 422, "Validation");
  EXPECT_NE(refused.body.find("513 tokens, expected at most 512"), std::string::npos) << refused.body;
}

// vllm#19201: a table of 514 positions was taken for 514 tokens, and the device died. Of bge-reranker-base
// and bge-reranker-v2-m3 only config and tokenizer matter.
TEST(ReportedLengths, B2ATableOf514PositionsHolds512Tokens) {
  for (const auto& [positions, tokens] : {std::pair{514, 512}, {8194, 8192}}) {
    RecordedGateway recorded(tokens);
    const std::string document = Times(1000, "I want some fruit, and a llama in the garden.");
    ASSERT_EQ(
        recorded.Post("/rerank", "{\"query\":\"A red apple\",\"truncate\":true,\"texts\":[" + document + "]}")
            .status,
        200);
    const Ids ids = recorded.TakeRows().at(0).ids;
    ASSERT_EQ(ids.size(), static_cast<size_t>(tokens));
    EXPECT_EQ(Ids(ids.begin(), ids.begin() + 7), (Ids{0, 62, 4842, 108787, 2, 2, 87}))
        << "the query is whole";
    EXPECT_EQ(ids.back(), 2);
    // Those ids in an engine with such a table: the last has the table's last position.
    const MirrorModel model(positions);
    TinyGateway gateway(model.path());
    std::string list;
    for (const int32_t id : ids) absl::StrAppend(&list, list.empty() ? "[" : ",", id);
    const HttpResponse response = gateway.Open().Post("/embed_all", "{\"inputs\":" + list + "]}");
    ASSERT_EQ(response.status, 200) << response.body.substr(0, 300);
    const MirrorModel::Seen seen = model.Read(Json(response.body), "/0");
    EXPECT_EQ(seen.ids, ids);
    EXPECT_EQ(seen.positions, From(2, ids.size()));
    EXPECT_EQ(seen.positions.back(), positions - 1);
  }
}

// quackformers#42: multilingual-e5-small is a BERT with XLM-R's tokenizer, so its positions begin at 0.
TEST(ReportedLengths, PositionsFollowTheModelAndNotTheTokenizer) {
  const MirrorModel model(512, "bert");
  TinyGateway gateway(model.path());
  const HttpResponse response = gateway.Open().Post("/embed_all", "{\"inputs\":" + Times(600, "Car") + "}");
  ASSERT_EQ(response.status, 200) << response.body.substr(0, 300);
  EXPECT_EQ(model.Read(Json(response.body), "/0").positions, From(0, 512));
}

// text-embeddings-inference#52, #56
TEST(ReportedLengths, B5ListsAreCutAsLoneTextsAre) {
  RecordedGateway recorded;
  const std::string text = Times(1000, "w");
  const Ids lone = recorded.IdsOf(text, ",\"truncate\":true");
  ASSERT_EQ(lone.size(), 512u);
  EXPECT_EQ(recorded.IdsOf("[" + text + "]", ",\"truncate\":true"), lone);
  const std::string one = "{\"truncate\":true,\"inputs\":";
  EXPECT_EQ(recorded.Post("/embed", one + text + "}").body,
            recorded.Post("/embed", one + "[" + text + "]}").body);
}

// text-embeddings-inference#218, #227
TEST(ReportedLengths, B6TheOpenAiRouteCutsUnasked) {
  RecordedGateway recorded;
  const std::string text = Times(1036, "Car");
  ASSERT_EQ(AllIds(recorded.gateway(), text).size(), 1038u);
  const HttpResponse response = recorded.Post("/v1/embeddings", "{\"input\":" + text + "}");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Json(response.body).Integer("/usage/prompt_tokens"), 512);
  EXPECT_EQ(recorded.TakeRows().at(0).ids, Cut(AllIds(recorded.gateway(), text), 512));
}

// text-embeddings-inference#394: a limit of characters came before the cut. And a cut by bytes, as theirs is,
// must not leave half a character, nor be skipped where it would.
TEST(ReportedLengths, B7LongTextsAreCutByTokensAlone) {
  RecordedGateway recorded;
  std::string ascii = "\"";
  while (ascii.size() < 67337 + 1) ascii += "the small model ";
  ascii = ascii.substr(0, 67337 + 1) + "\"";
  std::vector<std::string> texts = {ascii};
  for (const char* before : {"", "a", "ab"}) {  // so that any fixed place falls on each byte of a character
    std::string wide = std::string("\"") + before;
    for (int i = 0; i < 40000; ++i) wide += "\u5929\u5b89\u95e8";
    texts.push_back(wide + "\"");
  }
  texts.push_back("\"" + std::string(1000000, 'a') + "\"");  // one word
  for (const std::string& text : texts) {
    SCOPED_TRACE(text.substr(0, 20));
    const Ids all = AllIds(recorded.gateway(), text);
    ASSERT_GT(all.size(), 512u);
    EXPECT_EQ(recorded.IdsOf(text, ",\"truncate\":true"), Cut(all, 512));
    // From the other side the end stays.
    Ids end(all.end() - 511, all.end());
    end.insert(end.begin(), 0);
    EXPECT_EQ(recorded.IdsOf(text, ",\"truncation_direction\":\"Left\""), end);
  }
}

// text-embeddings-inference#723, #694: what could never fit stood at the head of the queue for ever. The
// program refuses such limits at its start (GatewayProgram.WrongUsageEndsIt); an engine elsewhere may have
// them still.
TEST(ReportedLengths, B8WhatDoesNotFitIsCutAndHoldsUpNobody) {
  const RealFolder real(RealFolder::Kind::kEmbedder, 514);
  TinyGateway gateway(real.folder().path(), [](TestOptions& options) {
    options.synthetic = "vocab=250002,max_row_tokens=64,max_batch_tokens=64";
    options.server.max_batch_tokens = 64;
  });
  gateway.Open();
  const auto began = std::chrono::steady_clock::now();
  const HttpResponse longest = gateway.Post("/embed", "{\"inputs\":" + Times(98, "Car") + "}");
  EXPECT_EQ(Header(longest, "x-compute-tokens"), "64") << longest.body;
  EXPECT_EQ(gateway.Post("/embed", R"({"inputs":"hi"})").status, 200);
  ExpectTeiError(gateway.Post("/embed", "{\"truncate\":false,\"inputs\":" + Times(98, "Car") + "}"), 422,
                 "Validation");
  EXPECT_EQ(gateway.Post("/embed", R"({"inputs":"hi"})").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

// fastembed#251, hindsight#4172: prefixes twice, or past the limit.
TEST(ReportedLengths, B24ThePromptIsInFrontOnceAndBeforeTheCut) {
  RecordedGateway recorded(512,
                           [](TestOptions& options) { options.gateway.policy.default_prompt = "query: "; });
  EXPECT_EQ(recorded.IdsOf("\"Hello world\""), (Ids{0, 41, 1294, 12, 35378, 8999, 2}));
  EXPECT_EQ(recorded.IdsOf("\"query: Hello world\""), (Ids{0, 41, 1294, 12, 41, 1294, 12, 35378, 8999, 2}));
  // 510 words are the most without it; three of them make room.
  const Ids cut = recorded.IdsOf(Times(510, "Car"));
  ASSERT_EQ(cut.size(), 512u);
  EXPECT_EQ(Ids(cut.begin(), cut.begin() + 4), (Ids{0, 41, 1294, 12}));
  EXPECT_EQ(Ids(cut.begin() + 4, cut.end() - 1), Ids(507, cut[4]));
  const HttpResponse counted = recorded.Post("/v1/embeddings", R"({"input":"Hello world"})");
  EXPECT_EQ(Json(counted.body).Integer("/usage/prompt_tokens"), 7);
  ExpectTeiError(recorded.Post("/embed", "{\"truncate\":false,\"inputs\":" + Times(508, "Car") + "}"), 422,
                 "Validation");
}

// text-embeddings-inference#146: max_seq_length was not looked at. vllm#25865: bge-m3 was taken for one of
// 512.
TEST(ReportedLengths, TheFoldersOwnLimitCounts) {
  const RealFolder real(RealFolder::Kind::kEmbedder, 8194);
  const auto synthetic = [](TestOptions& options) { options.synthetic = "vocab=250002,max_row_tokens=8192"; };
  TinyGateway silent(real.folder().path(), synthetic);
  EXPECT_EQ(silent.folder().max_tokens, 8192);
  real.folder().Write("sentence_bert_config.json", R"({"max_seq_length":256,"do_lower_case":false})");
  TinyGateway said(real.folder().path(), synthetic);
  EXPECT_EQ(Header(said.Open().Post("/embed", "{\"inputs\":" + Times(600, "Car") + "}"), "x-compute-tokens"),
            "256");
}

// fastembed#703, #704, #716: a tokenizer.json that pads to 128 broke lists of several lengths.
TEST(ReportedLengths, PaddingAndCutsThatATokenizerFileStoresAreNotUsed) {
  testing::TemporaryFolder folder;
  folder.CopyModel("tiny-bert");
  folder.Edit("tokenizer.json", "\"truncation\": null",
              R"("truncation": {"direction":"Right","max_length":4,"strategy":"LongestFirst","stride":0})");
  folder.Edit(
      "tokenizer.json", "\"padding\": null",
      R"("padding": {"strategy":{"Fixed":32},"direction":"Right","pad_to_multiple_of":null,"pad_id":1,)"
      R"("pad_type_id":0,"pad_token":"<pad>"})");
  const auto synthetic = [](TestOptions& options) { options.synthetic = "vocab=272,max_row_tokens=64"; };
  TinyGateway stored(folder.path(), synthetic), plain("tiny-bert", synthetic);
  stored.Open();
  plain.Open();
  for (const char* body :
       {R"({"inputs":"the small model of water"})", R"({"inputs":["a","the small model"]})"}) {
    const HttpResponse response = stored.Post("/embed", body);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.body, plain.Post("/embed", body).body);
    EXPECT_EQ(stored.Post("/tokenize", body).body, plain.Post("/tokenize", body).body);
  }
}

}  // namespace
}  // namespace trellis::gateway
