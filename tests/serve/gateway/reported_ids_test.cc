// Public bug reports against servers like this one, the right behaviour each: which ids a text becomes. As
// reported_lengths_test.cc.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/model/model_folder.h"
#include "tests/serve/gateway/mirror_model.h"
#include "tests/serve/gateway/real_model.h"

namespace trellis::gateway {
namespace {

// Of `tokenizers` 0.22.2 on XLM-R's vocabulary.
TEST(ReportedIds, TextsAreAsTheReferenceSays) {
  RecordedGateway recorded;
  const std::vector<std::pair<const char*, Ids>> texts = {
      {"\"Hello world\"", {0, 35378, 8999, 2}},
      {"\" \"", {0, 2}},
      {"\"\u200b\"", {0, 2}},
      {"\"query: Hello world\"", {0, 41, 1294, 12, 35378, 8999, 2}},
      {"\"\ufeffHello world\"", {0, 35378, 8999, 2}},
      {"\"I like \U0001f642 you\"", {0, 87, 1884, 3143, 398, 2}},
      {R"("a\u0000b")", {0, 10, 3, 275, 2}},
      {"\"\u00e9\"", {0, 393, 2}},
      {"\"e\u0301\"", {0, 393, 2}},
      {R"("\u0065\u0301")", {0, 393, 2}},
      {R"("I like \ud83d\ude42 you")", {0, 87, 1884, 3143, 398, 2}},
  };
  for (const auto& [text, ids] : texts) EXPECT_EQ(recorded.IdsOf(text), ids) << text;
}

// llama.cpp#9510: the second text of a pair began with <s>. bge-reranker-v2-m3's logits of these (-8.727 and
// -0.105) need its weights; what led to wrong ones were the ids.
TEST(ReportedIds, B3PairsHaveTwoSeparatorsAndNoTypes) {
  RecordedGateway recorded(8192);
  for (const auto& [path, texts] : {std::pair{"/rerank", "texts"},
                                    {"/rerank", "documents"},
                                    {"/v1/rerank", "documents"},
                                    {"/v2/rerank", "documents"}}) {
    const HttpResponse response =
        recorded.Post(path, absl::StrCat(R"({"query":"A red apple",")", texts,
                                         R"(":["A llama in the garden","I want some fruit"]})"));
    ASSERT_EQ(response.status, 200) << response.body;
    const std::vector<RecordingReplica::Row> rows = recorded.TakeRows();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].ids, (Ids{0, 62, 4842, 108787, 2, 2, 62, 67140, 23, 70, 80583, 2})) << path;
    EXPECT_EQ(rows[1].ids, (Ids{0, 62, 4842, 108787, 2, 2, 87, 3444, 3060, 41896, 2})) << path;
    for (const RecordingReplica::Row& row : rows) EXPECT_EQ(row.type_ids, Ids(row.type_ids.size(), 0));
  }
  // The other routes that take pairs.
  recorded.Post("/predict", R"({"inputs":[["A red apple","I want some fruit"]]})");
  EXPECT_EQ(recorded.TakeRows().at(0).ids, (Ids{0, 62, 4842, 108787, 2, 2, 87, 3444, 3060, 41896, 2}));
  recorded.Post("/v1/score", R"({"text_1":"A red apple","text_2":"I want some fruit"})");
  EXPECT_EQ(recorded.TakeRows().at(0).ids, (Ids{0, 62, 4842, 108787, 2, 2, 87, 3444, 3060, 41896, 2}));
}

// infinity#295, #36; text-embeddings-inference#273; vllm#36947, #9634. And in text-embeddings-inference's
// source: ids are decoded and encoded again, by which [6,6,6], all blanks, becomes nothing.
TEST(ReportedIds, B11IdsOfClientsAreUsedAsTheyAre) {
  RecordedGateway recorded;
  for (const auto& [path, field] : {std::pair{"/v1/embeddings", "input"}, {"/embed", "inputs"}}) {
    const auto rows = [&](const char* input) {
      const HttpResponse response = recorded.Post(path, absl::StrCat("{\"", field, "\":", input, "}"));
      EXPECT_EQ(response.status, 200) << input << response.body;
      std::vector<Ids> all;
      for (RecordingReplica::Row& row : recorded.TakeRows()) all.push_back(std::move(row.ids));
      return all;
    };
    EXPECT_EQ(rows("[100,201,301]"), (std::vector<Ids>{{0, 100, 201, 301, 2}}));
    EXPECT_EQ(rows("[[35378],[8999]]"), (std::vector<Ids>{{0, 35378, 2}, {0, 8999, 2}}));
    EXPECT_EQ(rows("[6,6,6]"), (std::vector<Ids>{{0, 6, 6, 6, 2}}));
    EXPECT_EQ(rows("[0,6,2]"), (std::vector<Ids>{{0, 6, 2}})) << "specials are there already";
    EXPECT_EQ(rows("[250001]"), (std::vector<Ids>{{0, 250001, 2}})) << "the last id";
    EXPECT_EQ(rows(R"([[5],"Hello world"])"), (std::vector<Ids>{{0, 5, 2}, {0, 35378, 8999, 2}}));
    const auto refused = [&](const char* input, const char* named) {
      const HttpResponse response = recorded.Post(path, absl::StrCat("{\"", field, "\":", input, "}"));
      EXPECT_TRUE(response.status == 400 || response.status == 422) << input << response.body;
      EXPECT_NE(response.body.find(named), std::string::npos) << input << response.body;
      EXPECT_TRUE(recorded.TakeRows().empty());
    };
    refused("[-1]", "-1");
    refused("[999999]", "999999");
    refused("[250002]", "250002");
    refused("[99999999999999999999999]", "JSON");
    refused("[]", "empty");
    refused(R"(["a",5])", "[1]");
    refused("[5,null]", "[1]");
    refused("[[5],[[6]]]", "[1]");
    EXPECT_EQ(rows("[100,201,301]").size(), 1u) << "and it lives";
  }
}

// LLamaSharp#1112: special tokens that a text spells. The reference and the training matched them.
TEST(ReportedIds, B21TextsThatSpellSpecialTokens) {
  RecordedGateway recorded;
  EXPECT_EQ(recorded.IdsOf("\"a</s>b\""), (Ids{0, 10, 2, 876, 2}));
  EXPECT_EQ(recorded.IdsOf("\"<pad>\""), (Ids{0, 1, 2}));
  EXPECT_EQ(recorded.IdsOf("\"<mask>\""), (Ids{0, 250001, 2}));
  EXPECT_EQ(recorded.IdsOf("\"a</s>b\"", ",\"match_special_tokens\":false"),
            (Ids{0, 10, 42946, 7, 2740, 275, 2}))
      << "as sentencepiece alone has it";
}

// A <pad> inside a text: transformers gives it the padding's own position, and what follows goes on counting
// (create_position_ids_from_input_ids). Nothing is masked.
TEST(ReportedIds, B21PaddingInsideATextHasItsOwnPosition) {
  const MirrorModel model(514);
  TinyGateway gateway(model.path());
  const Json json(gateway.Open().Post("/embed_all", R"({"inputs":"a<pad>b"})").body);
  const MirrorModel::Seen seen = model.Read(json, "/0");
  EXPECT_EQ(seen.ids, (Ids{0, 10, 1, 876, 2}));
  EXPECT_EQ(seen.positions, (Ids{2, 3, 1, 4, 5}));
}

// text-embeddings-inference#494: offsets of characters and of bytes were mixed.
TEST(ReportedIds, B23OffsetsAreBytes) {
  RecordedGateway recorded;
  const std::string text = "\u5317\u4eac\u5929\u5b89\u95e8";
  const Ids ids = {0, 6, 8732, 1906, 3586, 6349, 2};
  const std::vector<std::pair<int64_t, int64_t>> offsets = {{0, 3}, {0, 6}, {6, 9}, {9, 12}, {12, 15}};
  const Json json(recorded.Post("/tokenize", "{\"inputs\":" + Quote(text) + "}").body);
  ASSERT_EQ(json.Size("/0"), ids.size());
  for (size_t t = 0; t < ids.size(); ++t) {
    const std::string at = absl::StrCat("/0/", t);
    EXPECT_EQ(json.Integer(at + "/id"), ids[t]);
    if (t == 0 || t + 1 == ids.size()) {
      EXPECT_TRUE(json.At(at + "/start").is_null() && json.At(at + "/stop").is_null());
      continue;
    }
    EXPECT_EQ(json.Integer(at + "/start"), offsets[t - 1].first) << t;
    EXPECT_EQ(json.Integer(at + "/stop"), offsets[t - 1].second) << t;
    EXPECT_EQ(json.Text(at + "/text"),
              text.substr(static_cast<size_t>(offsets[t - 1].first),
                          static_cast<size_t>(offsets[t - 1].second - offsets[t - 1].first)));
  }
}

TEST(ReportedIds, B23OffsetsAreIntoPromptAndText) {
  RecordedGateway recorded(512,
                           [](TestOptions& options) { options.gateway.policy.default_prompt = "query: "; });
  const std::string text = "\u5317\u4eac\u5929\u5b89\u95e8", all = "query: " + text;
  const Json json(recorded.Post("/tokenize", "{\"inputs\":" + Quote(text) + "}").body);
  size_t end = 0;
  for (size_t t = 1; t + 1 < json.Size("/0"); ++t) {
    const std::string at = absl::StrCat("/0/", t);
    const auto start = static_cast<size_t>(json.Integer(at + "/start")),
               stop = static_cast<size_t>(json.Integer(at + "/stop"));
    ASSERT_LE(start, stop);
    EXPECT_EQ(json.Text(at + "/text"), all.substr(start, stop - start));
    end = stop;
  }
  EXPECT_EQ(end, all.size());
}

// vllm#19522: a tokenizer without a separator put the word None between the texts.
TEST(ReportedIds, B26WithoutASeparatorNothingStarts) {
  testing::TemporaryFolder folder;
  folder.CopyModel("tiny-reranker");
  const std::string file = folder.Read("tokenizer.json");
  const size_t begin = file.find("\"pair\": ["), end = file.find("\"special_tokens\"", begin);
  ASSERT_NE(end, std::string::npos);
  folder.Write("tokenizer.json",
               file.substr(0, begin) +
                   R"("pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],)" +
                   file.substr(end));
  const auto read = model::ReadModelFolder(folder.path());
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("post_processor"), absl::string_view::npos) << read.status();
}

TEST(ReportedIds, B26NothingButSeparatorsStandsBetweenTheTexts) {
  RecordedGateway recorded;
  const Ids ping = recorded.IdsOf("\"ping\""), pong = recorded.IdsOf("\"pong\"");
  ASSERT_EQ(recorded.Post("/rerank", R"({"query":"ping","texts":["pong"]})").status, 200);
  Ids expected(ping.begin(), ping.end());  // <s> ping </s>
  expected.push_back(2);
  expected.insert(expected.end(), pong.begin() + 1, pong.end());  // pong </s>
  EXPECT_EQ(recorded.TakeRows().at(0).ids, expected);
}

}  // namespace
}  // namespace trellis::gateway
