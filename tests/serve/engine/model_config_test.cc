#include "serve/engine/model_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/serve/model_files.h"

namespace trellis::engine {
namespace {

using ::trellis::testing::TemporaryFolder;
using ::trellis::testing::TinyModel;

constexpr char kBert[] = "tiny-bert";
constexpr char kDense[] = "tiny-xlm-roberta-dense";

ModelConfig Tiny(std::string_view name) {
  absl::StatusOr<ModelConfig> config = ReadModelConfig(TinyModel(name));
  EXPECT_TRUE(config.ok()) << name << ": " << config.status();
  return config.ok() ? *std::move(config) : ModelConfig();
}

TEST(ModelConfig, OfABert) {
  const ModelConfig config = Tiny(kBert);
  EXPECT_EQ(config.name, kBert);
  EXPECT_EQ(config.prefix, "");
  EXPECT_EQ(config.hidden, 36);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.heads, 3);
  EXPECT_EQ(config.intermediate, 72);
  EXPECT_EQ(config.vocab_size, 272);
  EXPECT_EQ(config.type_vocab_size, 2);
  EXPECT_EQ(config.max_positions, 64);
  EXPECT_EQ(config.position_offset, 0);
  EXPECT_EQ(config.positions, Positions::kIndex);
  EXPECT_EQ(config.pad_token_id, 0);
  EXPECT_EQ(config.max_row_tokens, 64);
  EXPECT_EQ(config.activation, Activation::kGelu);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  EXPECT_EQ(config.pooling, Pooling::kMean);
  EXPECT_EQ(config.normalize, Normalize::kL2);
  EXPECT_EQ(config.head, Head::kNone);
  EXPECT_TRUE(config.dense.empty());
  EXPECT_FALSE(config.sparse_head);
  EXPECT_FALSE(config.colbert_head);
}

TEST(ModelConfig, OfTheRobertaFamilies) {
  const ModelConfig roberta = Tiny("tiny-roberta");
  EXPECT_EQ(roberta.prefix, "");
  EXPECT_EQ(roberta.positions, Positions::kSkipPadding);
  EXPECT_EQ(roberta.position_offset, 2);
  EXPECT_EQ(roberta.max_positions, 66);
  EXPECT_EQ(roberta.max_row_tokens, 64);
  EXPECT_EQ(roberta.activation, Activation::kGeluTanh);
  EXPECT_EQ(roberta.pooling, Pooling::kMean);
  EXPECT_EQ(roberta.normalize, Normalize::kNone);

  const ModelConfig camembert = Tiny("tiny-camembert");
  EXPECT_EQ(camembert.prefix, "roberta.");
  EXPECT_EQ(camembert.position_offset, 5);  // its pad_token_id is 4
  EXPECT_EQ(camembert.max_row_tokens, 64);
  EXPECT_EQ(camembert.activation, Activation::kRelu);

  const ModelConfig longest = Tiny("tiny-long");
  EXPECT_EQ(longest.max_row_tokens, 8192);
  EXPECT_EQ(Tiny("tiny-xlm-roberta-last").pooling, Pooling::kLast);
}

TEST(ModelConfig, OfDenseLayersAndHeads) {
  const ModelConfig dense = Tiny(kDense);
  EXPECT_EQ(dense.pooling, Pooling::kCls);
  EXPECT_EQ(dense.normalize, Normalize::kL2);
  ASSERT_EQ(dense.dense.size(), 2u);
  EXPECT_EQ(dense.dense[0].folder, "2_Dense");
  EXPECT_EQ(dense.dense[0].in, 32);
  EXPECT_EQ(dense.dense[0].out, 24);
  EXPECT_EQ(dense.dense[0].after, DenseLayer::After::kTanh);
  EXPECT_EQ(dense.dense[1].folder, "3_Dense");
  EXPECT_EQ(dense.dense[1].in, 24);
  EXPECT_EQ(dense.dense[1].out, 20);
  EXPECT_EQ(dense.dense[1].after, DenseLayer::After::kIdentity);

  const ModelConfig classifier = Tiny("tiny-bert-classifier");
  EXPECT_EQ(classifier.prefix, "bert.");
  EXPECT_EQ(classifier.head, Head::kClassifyTanhPooler);
  EXPECT_EQ(classifier.labels, 3);
  const ModelConfig reranker = Tiny("tiny-reranker");
  EXPECT_EQ(reranker.prefix, "roberta.");
  EXPECT_EQ(reranker.head, Head::kClassifyDense);
  EXPECT_EQ(reranker.labels, 1);
  const ModelConfig m3 = Tiny("tiny-m3");
  EXPECT_TRUE(m3.sparse_head);
  EXPECT_TRUE(m3.colbert_head);
}

// A copy of a tiny model's configs, to be changed.
class Changed : public TemporaryFolder {
 public:
  explicit Changed(std::string_view model) {
    CopyModel(model, model == kDense ? Copy::kAll : Copy::kWithoutWeights);
  }
  absl::StatusOr<ModelConfig> Config() const { return ReadModelConfig(path()); }
  void ExpectError(absl::StatusCode code, std::string_view says) const {
    const absl::Status status = Config().status();
    EXPECT_EQ(status.code(), code) << status << "\nexpected " << says;
    EXPECT_NE(std::string(status.message()).find(says), std::string::npos) << status << "\nexpected " << says;
  }
};

TEST(ModelConfig, IsNamedAsTheFolderOrTheRepositoryIs) {
  const Changed folder(kBert);
  EXPECT_EQ(ReadModelConfig(folder.path() + "/")->name, std::filesystem::path(folder.path()).filename());
  namespace fs = std::filesystem;
  const TemporaryFolder cache;
  const std::string snapshot = cache / "models--BAAI--bge--m3/snapshots/5617a9f";
  fs::create_directories(fs::path(snapshot).parent_path());
  fs::create_directory_symlink(folder.path(), snapshot);
  EXPECT_EQ(ReadModelConfig(snapshot)->name, "BAAI/bge--m3");
}

TEST(ModelConfig, TakesTheEncodersPrefixFromTheWeights) {
  const Changed folder("tiny-camembert");
  EXPECT_EQ(folder.Config()->prefix, "roberta.");  // no weights: by architecture
  std::filesystem::copy(TinyModel("tiny-roberta") + "/model.safetensors", folder / "model.safetensors");
  EXPECT_EQ(folder.Config()->prefix, "");
  folder.Write(
      "model.safetensors",
      ::trellis::testing::Safetensors(
          R"({"x.embeddings.word_embeddings.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", ""));
  folder.ExpectError(absl::StatusCode::kInvalidArgument, "no tensor embeddings.word_embeddings.weight");
  folder.Write("model.safetensors", "damaged");
  folder.ExpectError(absl::StatusCode::kInvalidArgument, "model.safetensors: 7 bytes");
}

TEST(ModelConfig, DoesWithoutWhatTransformersLeavesAway) {
  const Changed folder("tiny-bert-classifier");
  folder.Write("config.json",
               R"({"model_type":"bert","architectures":["BertForSequenceClassification"],"hidden_size":8,
      "num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":16,"vocab_size":300,"max_position_embeddings":32,
      "hidden_act":null})");
  const auto config = folder.Config();
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->labels, 2);
  EXPECT_EQ(config->type_vocab_size, 2);
  EXPECT_EQ(config->pad_token_id, 0);
  EXPECT_EQ(config->layer_norm_eps, 1e-12);
  EXPECT_EQ(config->activation, Activation::kGelu);
}

TEST(ModelConfig, RefusesWhatNoEngineHasByName) {
  const struct {
    const char *from, *to, *says;
  } cases[] = {
      {R"("model_type": "bert")", R"("model_type": "new")",
       "config.json: model_type: \"new\", expected one of bert, roberta, xlm-roberta, camembert"},
      {R"("model_type": "bert")", R"("model_type": "bert", "auto_map": {"AutoModel": "x--y"})",
       "auto_map: an object, expected none"},
      {R"("model_type": "bert")", R"("model_type": "bert", "position_embedding_type": "rotary")",
       "position_embedding_type: \"rotary\""},
      {R"("model_type": "bert")", R"("model_type": "bert", "quantization_config": {})",
       "quantization_config"},
      {R"("is_decoder": false)", R"("is_decoder": true)", "is_decoder: true, expected false"},
      {R"("add_cross_attention": false)", R"("add_cross_attention": true)", "add_cross_attention: true"},
      {R"("hidden_act": "gelu")", R"("hidden_act": "silu")", "hidden_act: \"silu\", expected one of gelu"},
      {R"("BertModel")", R"("BertForTokenClassification")", "found BertForTokenClassification"},
      {R"("BertModel")", R"("BertLMHeadModel")", "found BertLMHeadModel"},
  };
  for (const auto& [from, to, says] : cases) {
    const Changed folder(kBert);
    folder.Edit("config.json", from, to);
    folder.ExpectError(absl::StatusCode::kUnimplemented, says);
  }
}

TEST(ModelConfig, NamesKeysThatAreMissingOrOdd) {
  const struct {
    const char *from, *to, *says;
  } cases[] = {
      {R"("hidden_size": 36)", R"("x": 1)",
       "config.json: hidden_size: missing, expected a whole number from 1 to"},
      {R"("hidden_size": 36)", R"("hidden_size": 0)", "hidden_size: 0, expected"},
      {R"("hidden_size": 36)", R"("hidden_size": -36)", "hidden_size: -36, expected"},
      {R"("hidden_size": 36)", R"("hidden_size": "36")", "hidden_size: \"36\", expected"},
      {R"("hidden_size": 36)", R"("hidden_size": 36.5)", "hidden_size: 36.5, expected"},
      {R"("hidden_size": 36)", R"("hidden_size": 1e9)", "hidden_size: 1000000000"},
      {R"("hidden_size": 36)", R"("hidden_size": 36, "hidden_size": 36)", "hidden_size: comes twice"},
      {R"("hidden_size": 36)", R"("hidden_size": 35)",
       "num_attention_heads: 3, expected a divisor of hidden_size 35"},
      {R"("vocab_size": 272)", R"("vocab_size": 2147483648)", "vocab_size: 2147483648"},
      {R"("layer_norm_eps": 1e-12)", R"("layer_norm_eps": 1)", "layer_norm_eps: 1, expected a number from 0"},
      {R"("layer_norm_eps": 1e-12)", R"("layer_norm_eps": "small")",
       "layer_norm_eps: \"small\", expected a number"},
      {R"("pad_token_id": 0)", R"("pad_token_id": 272)",
       "pad_token_id: 272, expected a whole number from 0 to 271"},
      {R"("model_type": "bert")", R"("x": 1)", "model_type: missing, expected a string"},
      {R"("is_decoder": false)", R"("is_decoder": "no")", "is_decoder: \"no\", expected true or false"},
  };
  for (const auto& [from, to, says] : cases) {
    const Changed folder(kBert);
    folder.Edit("config.json", from, to);
    folder.ExpectError(absl::StatusCode::kInvalidArgument, says);
  }
  const Changed roberta("tiny-roberta");
  roberta.Edit("config.json", R"("max_position_embeddings": 66)", R"("max_position_embeddings": 2)");
  roberta.ExpectError(absl::StatusCode::kInvalidArgument,
                      "max_position_embeddings: 2, expected more than the 2");
  const Changed labels("tiny-bert-classifier");
  labels.Edit("config.json", R"("2": "neutral")", R"("3": "neutral")");
  labels.ExpectError(absl::StatusCode::kInvalidArgument,
                     "id2label.2: missing, expected a name for each label from 0 to 2");
  const Changed broken(kBert);
  broken.Write("config.json", "[]");
  broken.ExpectError(absl::StatusCode::kInvalidArgument, "config.json: an array, expected an object");
  broken.Write("config.json", "{");
  broken.ExpectError(absl::StatusCode::kInvalidArgument, "config.json: expected JSON");
  std::filesystem::remove(broken / "config.json");
  broken.ExpectError(absl::StatusCode::kNotFound, "config.json: no such file");
}

TEST(ModelConfig, TakesTheLeastLengthLimit) {
  const Changed folder(kBert);
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": 48, "do_lower_case": false})");
  EXPECT_EQ(folder.Config()->max_row_tokens, 48);
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": 512})");
  EXPECT_EQ(folder.Config()->max_row_tokens, 64);
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": null})");
  EXPECT_EQ(folder.Config()->max_row_tokens, 64);
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": 0})");
  folder.ExpectError(absl::StatusCode::kInvalidArgument, "sentence_bert_config.json: max_seq_length: 0");
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": 48, "do_lower_case": true})");
  folder.ExpectError(absl::StatusCode::kUnimplemented, "do_lower_case: true, expected false");
  folder.Write("sentence_bert_config.json", R"({"transformer_task": "fill-mask"})");
  folder.ExpectError(absl::StatusCode::kUnimplemented, "transformer_task: \"fill-mask\"");
  std::filesystem::remove(folder / "sentence_bert_config.json");
  folder.Write("sentence_xlm-roberta_config.json", R"({"max_seq_length": 32})");
  EXPECT_EQ(folder.Config()->max_row_tokens, 32);
}

constexpr char kTransformer[] =
    R"({"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"})";
constexpr char kPooling[] =
    R"({"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"})";
constexpr char kNormalize[] =
    R"({"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"})";

std::string Modules(std::initializer_list<std::string> modules) {
  std::string json = "[";
  for (const std::string& module : modules) json += (json.size() > 1 ? "," : "") + module;
  return json + "]";
}

TEST(ModelConfig, ReadsOlderSpellingsOfPooling) {
  const Changed folder(kBert);
  folder.Write("modules.json", Modules({kTransformer, kPooling, kNormalize}));
  const auto pooling = [&folder](std::string_view json) {
    folder.Write("1_Pooling/config.json", json);
    const auto config = folder.Config();
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? config->pooling : Pooling::kModel;
  };
  EXPECT_EQ(
      pooling(
          R"({"word_embedding_dimension":36,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false,
                        "pooling_mode_max_tokens":false,"pooling_mode_mean_sqrt_len_tokens":false})"),
      Pooling::kCls);
  EXPECT_EQ(pooling(R"({"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true})"), Pooling::kMean);
  EXPECT_EQ(pooling(R"({"pooling_mode_lasttoken":true})"), Pooling::kLast);
  EXPECT_EQ(pooling(R"({"pooling_mode":["cls"]})"), Pooling::kCls);
  const auto refused = [&folder](std::string_view json, absl::StatusCode code, std::string_view says) {
    folder.Write("1_Pooling/config.json", json);
    folder.ExpectError(code, says);
  };
  refused(R"({"pooling_mode":"max"})", absl::StatusCode::kUnimplemented,
          "1_Pooling/config.json: pooling_mode: \"max\", expected exactly one of");
  refused(R"({"pooling_mode":"attention"})", absl::StatusCode::kUnimplemented, "found attention");
  refused(R"({"pooling_mode":["cls","mean"]})", absl::StatusCode::kUnimplemented,
          "pooling_mode: an array, expected exactly one");
  refused(R"({"pooling_mode_weightedmean_tokens":true})", absl::StatusCode::kUnimplemented,
          "pooling_mode_weightedmean_tokens: true");
  refused(R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true})",
          absl::StatusCode::kUnimplemented, "pooling_mode_cls_token: true, expected exactly");
  refused(R"({"pooling_mode_cls_token":false})", absl::StatusCode::kInvalidArgument,
          "pooling_mode: missing, expected one of cls, mean");
  refused(R"({"pooling_mode_cls_token":1})", absl::StatusCode::kInvalidArgument,
          "pooling_mode_cls_token: 1, expected true or false");
  refused(R"({"pooling_mode":"cls","embedding_dimension":384})", absl::StatusCode::kInvalidArgument,
          "embedding_dimension: 384, expected a whole number from 36 to 36");
  refused(R"({"pooling_mode":"cls","include_prompt":false})", absl::StatusCode::kUnimplemented,
          "include_prompt: false, expected true");
}

TEST(ModelConfig, DoesWithoutModules) {
  const Changed folder(kBert);
  std::filesystem::remove(folder / "modules.json");
  folder.Write("1_Pooling/config.json", R"({"pooling_mode_cls_token":true})");
  EXPECT_EQ(folder.Config()->pooling, Pooling::kCls);
  EXPECT_EQ(folder.Config()->normalize, Normalize::kNone);
  std::filesystem::remove_all(folder / "1_Pooling");
  EXPECT_EQ(folder.Config()->pooling, Pooling::kMean);
  folder.Write("modules.json", Modules({kTransformer, kPooling}));
  folder.ExpectError(absl::StatusCode::kNotFound, "1_Pooling/config.json: no such file");
}

TEST(ModelConfig, RefusesOtherModulesByName) {
  const auto module = [](std::string_view type, std::string_view path) {
    return R"({"idx":9,"name":"9","path":")" + std::string(path) + R"(","type":")" + std::string(type) +
           "\"}";
  };
  const std::string models = "sentence_transformers.models.";
  const struct {
    std::string json;
    absl::StatusCode code;
    const char* says;
  } cases[] = {
      {Modules({kTransformer, module(models + "LSTM", "2"), kPooling}), absl::StatusCode::kUnimplemented,
       "modules.json: [1].type: \"sentence_transformers.models.LSTM\", expected Pooling, Dense or Normalize"},
      {Modules({module(models + "BoW", "")}), absl::StatusCode::kUnimplemented,
       "[0].type: \"sentence_transformers.models.BoW\", expected Transformer"},
      {Modules({module("custom_st.Transformer", "")}), absl::StatusCode::kUnimplemented,
       "[0].type: \"custom_st.Transformer\""},
      {Modules({module(models + "Transformer", "0_Transformer"), kPooling}), absl::StatusCode::kUnimplemented,
       "[0].path: \"0_Transformer\", expected \"\""},
      {Modules({kTransformer, kNormalize, kPooling}), absl::StatusCode::kUnimplemented,
       "modules.json: Normalize \"2_Normalize\", expected Transformer, Pooling, then"},
      {Modules({kTransformer, kPooling, kPooling}), absl::StatusCode::kUnimplemented,
       "modules.json: Pooling \"1_Pooling\", expected"},
      {Modules({kTransformer, kPooling, kNormalize, kNormalize}), absl::StatusCode::kUnimplemented,
       "modules.json: Normalize"},
      {Modules({kTransformer}), absl::StatusCode::kUnimplemented, "modules.json: no Pooling module"},
      {Modules({}), absl::StatusCode::kInvalidArgument,
       "modules.json: an array, expected a Transformer module first"},
      {"{}", absl::StatusCode::kInvalidArgument, "modules.json: an object, expected an array"},
      {Modules({kTransformer, module(models + "Pooling", "../1_Pooling")}),
       absl::StatusCode::kInvalidArgument, "[1].path: \"../1_Pooling\""},
      {Modules({R"({"path":""})"}), absl::StatusCode::kInvalidArgument, "[0].type: missing"},
  };
  for (const auto& [json, code, says] : cases) {
    const Changed folder(kBert);
    folder.Write("modules.json", json);
    folder.ExpectError(code, says);
  }
}

TEST(ModelConfig, ChecksDenseLayers) {
  const struct {
    const char *from, *to;
    absl::StatusCode code;
    const char* says;
  } cases[] = {
      {R"("in_features": 24)", R"("in_features": 32)", absl::StatusCode::kInvalidArgument,
       "3_Dense/config.json: in_features: 32, expected a whole number from 24 to 24"},
      {R"("out_features": 20)", R"("out_features": 0)", absl::StatusCode::kInvalidArgument,
       "out_features: 0, expected"},
      {"torch.nn.modules.linear.Identity", "torch.nn.modules.activation.GELU",
       absl::StatusCode::kUnimplemented,
       "activation_function: \"torch.nn.modules.activation.GELU\", expected Tanh or Identity"},
      {R"("module_input_name": "sentence_embedding")", R"("module_input_name": "token_embeddings")",
       absl::StatusCode::kUnimplemented, "module_input_name: \"token_embeddings\""},
  };
  for (const auto& [from, to, code, says] : cases) {
    const Changed folder(kDense);
    folder.Edit("3_Dense/config.json", from, to);
    folder.ExpectError(code, says);
  }
}

}  // namespace
}  // namespace trellis::engine
