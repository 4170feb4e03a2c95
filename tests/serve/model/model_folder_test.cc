#include "serve/model/model_folder.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/serve/model_files.h"

namespace trellis::model {
namespace {

using ::trellis::testing::TemporaryFolder;
using ::trellis::testing::TinyModel;

constexpr char kBert[] = "tiny-bert";

class Changed : public TemporaryFolder {
 public:
  explicit Changed(std::string_view model) { CopyModel(model); }
  absl::StatusOr<ModelFolder> Folder() const { return ReadModelFolder(path()); }
  void ExpectError(absl::StatusCode code, std::string_view says) const {
    const absl::Status status = Folder().status();
    EXPECT_EQ(status.code(), code) << status << "\nexpected " << says;
    EXPECT_NE(std::string(status.message()).find(says), std::string::npos) << status << "\nexpected " << says;
  }
};

// The ids of the reference's texts: prompt in front, specials on, cut to the limit, prompts by name.
TEST(ModelFolder, TokenizesAsTheReferenceDoes) {
  size_t checked = 0;
  for (const char* name : {kBert, "tiny-xlm-roberta-dense", "tiny-xlm-roberta-last", "tiny-m3"}) {
    const absl::StatusOr<ModelFolder> model = ReadModelFolder(TinyModel(name));
    ASSERT_TRUE(model.ok()) << model.status();
    simdjson::dom::parser parser;
    const simdjson::dom::element reference = parser.load(TinyModel(name) + "/reference.json");
    for (const simdjson::dom::element row : reference["texts"]) {
      std::string text;
      if (std::string_view prompt; row["prompt_name"].get(prompt) == simdjson::SUCCESS) {
        ASSERT_TRUE(model->prompts.Named(prompt).ok());
        text = *model->prompts.Named(prompt);
      }
      text += std::string_view(row["text"]);
      EncodeOptions options;
      options.truncate = Truncate::kLongestFirst;
      options.max_length = static_cast<size_t>(model->max_tokens);
      const absl::StatusOr<EncodedText> encoded = model->tokenizer.Encode({text}, options);
      ASSERT_TRUE(encoded.ok()) << encoded.status();
      std::vector<TokenId> ids;
      for (const int64_t id : row["ids"]) ids.push_back(static_cast<TokenId>(id));
      EXPECT_EQ(encoded->ids, ids) << name << ": " << text;
      ++checked;
    }
  }
  EXPECT_GE(checked, 4u * 9);
}

TEST(ModelFolder, TokenizesPairsAsTheReferenceDoes) {
  size_t typed = 0;
  for (const char* name : {"tiny-reranker", "tiny-bert-classifier"}) {
    const absl::StatusOr<ModelFolder> model = ReadModelFolder(TinyModel(name));
    ASSERT_TRUE(model.ok()) << model.status();
    simdjson::dom::parser parser;
    const simdjson::dom::element reference = parser.load(TinyModel(name) + "/reference.json");
    size_t pairs = 0;
    for (const simdjson::dom::element row : reference["pairs"]) {
      EncodeOptions options;
      options.truncate = Truncate::kLongestFirst;
      options.max_length = static_cast<size_t>(model->max_tokens);
      const absl::StatusOr<EncodedText> encoded = model->tokenizer.Encode(
          {std::string_view(row["query"]), std::string_view(row["document"])}, options);
      ASSERT_TRUE(encoded.ok()) << encoded.status();
      std::vector<TokenId> ids;
      for (const int64_t id : row["ids"]) ids.push_back(static_cast<TokenId>(id));
      EXPECT_EQ(encoded->ids, ids) << name;
      if (simdjson::dom::array array; row["type_ids"].get(array) == simdjson::SUCCESS) {
        EXPECT_EQ(model->type_ids, TypeIds::kTemplate);
        std::vector<uint8_t> type_ids;
        for (const int64_t id : array) type_ids.push_back(static_cast<uint8_t>(id));
        EXPECT_EQ(encoded->type_ids, type_ids) << name;
        ++typed;
      }
      ++pairs;
    }
    EXPECT_GE(pairs, 5u) << name;
  }
  EXPECT_GE(typed, 5u);
}

TEST(ModelFolder, HandsOutItsParts) {
  const absl::StatusOr<ModelFolder> bert = ReadModelFolder(TinyModel(kBert));
  ASSERT_TRUE(bert.ok()) << bert.status();
  EXPECT_EQ(bert->max_tokens, 64);
  EXPECT_EQ(bert->config.hidden, 36);
  EXPECT_EQ(bert->type_ids, TypeIds::kZero);  // two types, but XLM-RoBERTa's tokenizer
  EXPECT_EQ(*bert->prompts.Named("query"), "query: ");
  EXPECT_EQ(bert->prompts.Default(), "");
  EXPECT_TRUE(bert->labels.empty());
  const absl::StatusOr<ModelFolder> classifier = ReadModelFolder(TinyModel("tiny-bert-classifier"));
  ASSERT_TRUE(classifier.ok()) << classifier.status();
  EXPECT_EQ(classifier->labels, (std::vector<std::string>{"contradiction", "entailment", "neutral"}));
  EXPECT_EQ(ReadModelFolder(TinyModel("tiny-xlm-roberta-last"))->max_tokens, 48);
  EXPECT_EQ(ReadModelFolder(TinyModel("tiny-long"))->max_tokens, 8192);
}

TEST(ModelFolder, TheFolderOfSentencesDecidesTheLimitBeforeTheTokenizers) {
  const Changed folder(kBert);
  folder.Edit("tokenizer_config.json", R"("model_max_length": 64)", R"("model_max_length": 40)");
  EXPECT_EQ(folder.Folder()->max_tokens, 40);
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": 50})");
  EXPECT_EQ(folder.Folder()->max_tokens, 50);
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": 5000})");
  EXPECT_EQ(folder.Folder()->max_tokens, 64);
  std::filesystem::remove(folder / "sentence_bert_config.json");
  // What transformers writes for "no limit".
  folder.Edit("tokenizer_config.json", R"("model_max_length": 40)",
              R"("model_max_length": 1000000000000000019884624838656)");
  EXPECT_EQ(folder.Folder()->max_tokens, 64);
  folder.Edit("tokenizer_config.json", R"("model_max_length": 1000000000000000019884624838656)",
              R"("model_max_length": null)");
  EXPECT_EQ(folder.Folder()->max_tokens, 64);
  folder.Edit("tokenizer_config.json", R"("model_max_length": null)", R"("model_max_length": "64")");
  folder.ExpectError(absl::StatusCode::kInvalidArgument,
                     "tokenizer_config.json: model_max_length: expected a number from 1");
  folder.Edit("tokenizer_config.json", R"("model_max_length": "64")", R"("model_max_length": 4)");
  folder.ExpectError(absl::StatusCode::kInvalidArgument,
                     "rows of at most 4 tokens, expected more than the 4 special ones");
}

TEST(ModelFolder, TypeIdsAreAsTheTokenizersClassHasThem) {
  const auto types = [](std::string_view tokenizer_config, std::string_view more) {
    const Changed folder(kBert);
    folder.Write("tokenizer_config.json", tokenizer_config);
    folder.Edit("config.json", R"("model_type": "bert")", R"("model_type": "bert")" + std::string(more));
    const absl::StatusOr<ModelFolder> model = folder.Folder();
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? model->type_ids : TypeIds::kZero;
  };
  EXPECT_EQ(types(R"({"tokenizer_class":"XLMRobertaTokenizer"})", ""), TypeIds::kZero);
  EXPECT_EQ(types(R"({"tokenizer_class":"BertTokenizerFast"})", ""), TypeIds::kTemplate);
  EXPECT_EQ(types(R"({"tokenizer_class":"TokenizersBackend"})", ""), TypeIds::kZero);
  EXPECT_EQ(
      types(R"({"tokenizer_class":"TokenizersBackend","model_input_names":["input_ids","token_type_ids"]})",
            ""),
      TypeIds::kTemplate);
  EXPECT_EQ(types(R"({"tokenizer_class":"BertTokenizer","model_input_names":["input_ids"]})", ""),
            TypeIds::kZero);
  EXPECT_EQ(types("{}", R"(,"tokenizer_class":"XLMRobertaTokenizer")"), TypeIds::kZero);
  EXPECT_EQ(types("{}", ""), TypeIds::kTemplate);  // a BERT's own tokenizer
}

TEST(ModelFolder, RefusesOddTokenizerSettings) {
  const Changed folder(kBert);
  const struct {
    const char *json, *says;
  } cases[] = {
      {"", "tokenizer_config.json: expected a JSON object"},
      {"[]", "tokenizer_config.json: expected a JSON object"},
      {R"({"model_max_length":1,"model_max_length":2})", "model_max_length: expected it once"},
      {R"({"model_input_names":"input_ids"})", "model_input_names: expected an array of strings"},
      {R"({"model_input_names":[1]})", "model_input_names: expected an array of strings"},
      {R"({"tokenizer_class":1})", "tokenizer_class: expected a string"},
      {R"({"model_max_length":)", "tokenizer_config.json:"},
  };
  for (const auto& [json, says] : cases) {
    folder.Write("tokenizer_config.json", json);
    folder.ExpectError(absl::StatusCode::kInvalidArgument, says);
  }
}

TEST(ModelFolder, RefusesFilesThatContradictEachOther) {
  const Changed ids(kBert);
  ids.Edit("config.json", R"("vocab_size": 272)", R"("vocab_size": 264)");
  ids.ExpectError(absl::StatusCode::kInvalidArgument, "the tokenizer has 265 ids, expected at most the 264");
  const Changed reranker("tiny-reranker");
  reranker.Write("tokenizer.json", [&] {
    std::string json = reranker.Read("tokenizer.json");
    const size_t from = json.find("\"post_processor\":");
    const size_t to = json.find("\"decoder\":");
    return json.replace(from, to - from, "\"post_processor\": null, ");
  }());
  reranker.ExpectError(absl::StatusCode::kInvalidArgument, "puts nothing between the texts of a pair");
}

// The hub's cache: a snapshot is a folder of links to blobs that are named by their hash.
TEST(ModelFolder, ReadsASnapshotOfTheHubsCache) {
  namespace fs = std::filesystem;
  const TemporaryFolder cache;
  const fs::path model = cache / "models--some--tiny";
  const fs::path snapshot = model / "snapshots" / "0a1b2c";
  fs::create_directories(model / "blobs");
  size_t blobs = 0;
  for (const auto& found : fs::recursive_directory_iterator(TinyModel("tiny-xlm-roberta-dense"))) {
    if (!found.is_regular_file()) continue;
    const fs::path blob = model / "blobs" / std::to_string(blobs++);
    const fs::path link = snapshot / fs::relative(found.path(), TinyModel("tiny-xlm-roberta-dense"));
    fs::copy(found.path(), blob);
    fs::create_directories(link.parent_path());
    fs::create_symlink(fs::relative(blob, link.parent_path()), link);
  }
  const absl::StatusOr<ModelFolder> read = ReadModelFolder(snapshot);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->config.name, "some/tiny");
  EXPECT_EQ(read->config.dense.size(), 2u);
  EXPECT_EQ(read->max_tokens, 64);
}

TEST(ModelFolder, NamesAMissingTokenizer) {
  EXPECT_EQ(ReadModelFolder(TinyModel("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadModelFolder(TinyModel("tiny-bert") + "/config.json").status().code(),
            absl::StatusCode::kNotFound);
  const Changed bert("tiny-bert-classifier");
  std::filesystem::remove(bert / "tokenizer.json");
  bert.ExpectError(absl::StatusCode::kNotFound, "tokenizer.json: cannot be opened");
}

TEST(Prompts, AreByNameWithADefault) {
  const TemporaryFolder folder;
  EXPECT_TRUE(ReadPrompts(folder.path())->by_name.empty());
  folder.Write("config_sentence_transformers.json",
               R"({"prompts":{"query":"q: ","document":"d: "},"default_prompt_name":"document"})");
  const absl::StatusOr<Prompts> prompts = ReadPrompts(folder.path());
  ASSERT_TRUE(prompts.ok()) << prompts.status();
  EXPECT_EQ(*prompts->Named("query"), "q: ");
  EXPECT_EQ(prompts->Default(), "d: ");
  EXPECT_EQ(prompts->Named("passage").status().message(),
            "prompt \"passage\", expected one of document, query");
  EXPECT_EQ(Prompts().Named("x").status().code(), absl::StatusCode::kNotFound);
}

TEST(Prompts, RefusesWhatIsOdd) {
  const struct {
    const char *json, *says;
  } cases[] = {
      {"{", "config_sentence_transformers.json: expected JSON"},
      {"[]", "an array, expected an object"},
      {R"({"prompts":[]})", "prompts: an array, expected an object"},
      {R"({"prompts":{"query":1}})", "prompts.query: 1, expected a string"},
      {R"({"prompts":{"a":"1","a":"2"}})", "prompts.a: comes twice"},
      {R"({"prompts":{},"default_prompt_name":"query"})",
       "default_prompt_name: \"query\", expected a name under prompts"},
  };
  for (const auto& [json, says] : cases) {
    const TemporaryFolder folder;
    folder.Write("config_sentence_transformers.json", json);
    const absl::Status status = ReadPrompts(folder.path()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(std::string(status.message()).find(says), std::string::npos) << status << "\nexpected " << says;
  }
}

}  // namespace
}  // namespace trellis::model
