#include "serve/engine/model_config.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/json_file.h"
#include "serve/engine/pooling_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostWidth = 1 << 20;

// What a model_type stands for.
struct Family {
  std::string_view model_type;
  std::string_view base;  // the encoder's name inside a model with a head
  Positions positions;
  int32_t pad_token_id;  // where config.json does not say
  Head classifier;
};
constexpr Family kFamilies[] = {
    {"bert", "bert.", Positions::kIndex, 0, Head::kClassifyTanhPooler},
    {"roberta", "roberta.", Positions::kSkipPadding, 1, Head::kClassifyDense},
    {"xlm-roberta", "roberta.", Positions::kSkipPadding, 1, Head::kClassifyDense},
    {"camembert", "roberta.", Positions::kSkipPadding, 1, Head::kClassifyDense},
};

// All spellings of one function are the same numbers up to rounding.
constexpr std::pair<std::string_view, Activation> kActivations[] = {
    {"gelu", Activation::kGelu},          {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},  {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"relu", Activation::kRelu},
};

// A model in the hub's cache lies in models--OWNER--NAME/snapshots/COMMIT.
std::string NameOfFolder(const std::string& folder) {
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // a trailing slash
  constexpr std::string_view kCached = "models--";
  for (const fs::path& part : path) {
    const std::string name = part.string();
    if (!name.starts_with(kCached)) continue;
    const size_t owner = kCached.size();
    const size_t dashes = name.find("--", owner);
    if (dashes == std::string::npos) return name.substr(owner);
    return absl::StrCat(name.substr(owner, dashes - owner), "/", name.substr(dashes + 2));
  }
  return path.filename().string();
}

const Family* ReadFamily(const JsonNode& root) {
  const std::string model_type = root.String("model_type");
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  root.Fail(root.Unknown("model_type", "one of bert, roberta, xlm-roberta, camembert"));
  return nullptr;
}

// Whatever would make the same tensors mean something else.
void RefuseVariants(const JsonNode& root) {
  // Models with code of their own keep the model_type they started from.
  if (root.Has("auto_map")) root.Fail(root.Unknown("auto_map", "none: a model without code of its own"));
  if (root.Has("quantization_config")) {
    root.Fail(root.Unknown("quantization_config", "none: weights that are not quantized"));
  }
  for (const std::string_view key : {"is_decoder", "is_encoder_decoder", "add_cross_attention"}) {
    if (root.IsTrue(key)) root.Fail(root.Unknown(key, "false: an encoder"));
  }
  if (root.String("position_embedding_type", "absolute") != "absolute") {
    root.Fail(root.Unknown("position_embedding_type", "\"absolute\""));
  }
}

void ReadSizes(const JsonNode& root, ModelConfig& config) {
  const auto size = [&root](std::string_view key, int64_t most) {
    return static_cast<int32_t>(root.Integer(key, 1, most));
  };
  config.hidden = size("hidden_size", kMostWidth);
  config.layers = size("num_hidden_layers", 4096);
  config.heads = size("num_attention_heads", kMostWidth);
  config.intermediate = size("intermediate_size", kMostWidth);
  config.vocab_size = size("vocab_size", kMost);
  config.max_positions = size("max_position_embeddings", kMost);
  config.type_vocab_size = static_cast<int32_t>(root.Integer("type_vocab_size", 1, kMostWidth, 2));
  if (config.heads > 0 && config.hidden % config.heads != 0) {
    root.Fail(root.Wrong("num_attention_heads", absl::StrCat("a divisor of hidden_size ", config.hidden)));
  }
  config.layer_norm_eps = root.Number("layer_norm_eps", 1e-12);
  if (!(config.layer_norm_eps >= 0 && config.layer_norm_eps < 1)) {
    root.Fail(root.Wrong("layer_norm_eps", "a number from 0 to below 1"));
  }
}

void ReadActivation(const JsonNode& root, ModelConfig& config) {
  const std::string name = root.String("hidden_act", "gelu");
  for (const auto& [known, activation] : kActivations) {
    if (known == name) {
      config.activation = activation;
      return;
    }
  }
  root.Fail(root.Unknown("hidden_act", "one of gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu"));
}

// Without id2label there are two labels: transformers leaves its default away.
int32_t ReadLabels(const JsonNode& root) {
  if (!root.Has("id2label")) return static_cast<int32_t>(root.Integer("num_labels", 1, kMostWidth, 2));
  const JsonNode id2label = root.Child("id2label");
  std::set<std::string> labels;
  for (const auto& [number, name] : id2label.Fields()) labels.insert(number);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels.contains(absl::StrCat(i))) continue;
    id2label.Fail(
        id2label.Wrong(absl::StrCat(i), absl::StrCat("a name for each label from 0 to ", labels.size() - 1)));
    break;
  }
  if (labels.empty()) root.Fail(root.Wrong("id2label", "at least one label"));
  return static_cast<int32_t>(labels.size());
}

// Sets head and labels; returns whether the architecture holds the encoder under its base name.
bool ReadHead(const JsonNode& root, const Family& family, ModelConfig& config) {
  const std::vector<std::string> architectures = root.Strings("architectures");
  if (architectures.empty()) return false;
  const std::string& name = architectures.front();
  if (name.ends_with("ForSequenceClassification")) {
    config.head = family.classifier;
    config.labels = ReadLabels(root);
    return true;
  }
  if (name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining")) return true;
  if (!name.ends_with("Model") || name.ends_with("LMHeadModel")) {
    root.Fail(root.Unknown("architectures", absl::StrCat("a Model, ForMaskedLM, ForPreTraining or "
                                                         "ForSequenceClassification, found ",
                                                         name)));
  }
  return false;
}

// Where there are weights they decide: checkpoints saved from a model with a head keep its names whatever
// config.json says.
absl::Status ReadPrefix(const std::string& folder, const Family& family, bool under_base,
                        ModelConfig& config) {
  constexpr std::string_view kProbe = "embeddings.word_embeddings.weight";
  config.prefix = under_base ? std::string(family.base) : "";
  const absl::StatusOr<Weights> weights = Weights::Open(folder);
  if (absl::IsNotFound(weights.status())) return absl::OkStatus();  // only who computes needs weights
  if (!weights.ok()) return weights.status();
  for (const std::string& prefix : {config.prefix, std::string(), std::string(family.base)}) {
    if (!weights->Has(absl::StrCat(prefix, std::string(kProbe)))) continue;
    config.prefix = prefix;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(folder, ": weights: no tensor ", std::string(kProbe),
                                                 ", expected one of that name or with the prefix ",
                                                 std::string(family.base)));
}

void ReadPositions(const JsonNode& root, const Family& family, ModelConfig& config) {
  config.positions = family.positions;
  config.pad_token_id = static_cast<int32_t>(
      root.Integer("pad_token_id", 0, std::max(0, config.vocab_size - 1), family.pad_token_id));
  config.position_offset = family.positions == Positions::kSkipPadding ? config.pad_token_id + 1 : 0;
  config.max_row_tokens = config.max_positions - config.position_offset;
  if (config.max_row_tokens < 1) {
    root.Fail(root.Wrong("max_position_embeddings",
                         absl::StrCat("more than the ", config.position_offset, " that positions start at")));
  }
}

bool Exists(const std::string& folder, std::string_view file) {
  std::error_code error;
  return fs::exists(fs::path(folder) / std::string(file), error);
}

}  // namespace

absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& folder) {
  absl::StatusOr<JsonFile> file = JsonFile::Read((fs::path(folder) / "config.json").string());
  if (!file.ok()) return file.status();
  const JsonNode root = file->root();
  (void)root.Fields();  // refuses what is no object, and keys that come twice
  ModelConfig config;
  config.name = NameOfFolder(folder);
  const Family* const family = ReadFamily(root);
  if (family == nullptr) return file->status();
  RefuseVariants(root);
  ReadSizes(root, config);
  ReadActivation(root, config);
  ReadPositions(root, *family, config);
  const bool under_base = ReadHead(root, *family, config);
  if (!file->status().ok()) return file->status();

  if (const absl::Status read = ReadPrefix(folder, *family, under_base, config); !read.ok()) return read;
  if (const absl::Status read = ReadPooling(folder, config); !read.ok()) return read;
  const absl::StatusOr<std::optional<int32_t>> length = ReadSentenceLength(folder);
  if (!length.ok()) return length.status();
  if (length->has_value()) config.max_row_tokens = std::min(config.max_row_tokens, **length);
  config.sparse_head = Exists(folder, "sparse_linear.safetensors");
  config.colbert_head = Exists(folder, "colbert_linear.safetensors");
  return config;
}

}  // namespace trellis::engine
