#include "serve/engine/pooling_config.h"

#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/json_file.h"

namespace trellis::engine {
namespace {

namespace fs = std::filesystem;

constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
// Pooling modes by the name that today's files use and by the flag of older ones; those without a Pooling are
// known to exist and have no engine.
struct Mode {
  std::string_view name;
  std::string_view flag;
  std::optional<Pooling> pooling;
};
constexpr Mode kModes[] = {
    {"cls", "pooling_mode_cls_token", Pooling::kCls},
    {"mean", "pooling_mode_mean_tokens", Pooling::kMean},
    {"lasttoken", "pooling_mode_lasttoken", Pooling::kLast},
    {"max", "pooling_mode_max_tokens", std::nullopt},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", std::nullopt},
    {"weightedmean", "pooling_mode_weightedmean_tokens", std::nullopt},
};
constexpr char kExpectedModes[] = "one of cls, mean and lasttoken";

std::string In(const std::string& folder, std::string_view file) {
  return (fs::path(folder) / std::string(file)).string();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

const Mode* ModeNamed(std::string_view name) {
  for (const Mode& mode : kModes) {
    if (mode.name == name) return &mode;
  }
  return nullptr;
}

// `pooling_mode: "mean"`, or a list of one; else the flags.
void ReadMode(const JsonNode& root, ModelConfig& config) {
  std::vector<const Mode*> on;
  if (root.Has("pooling_mode")) {
    const JsonNode value = root.Child("pooling_mode");
    const std::vector<std::string> names =
        value.is_string() ? std::vector<std::string>{value.Text()} : root.Strings("pooling_mode");
    for (const std::string& name : names) {
      const Mode* const mode = ModeNamed(name);
      if (mode == nullptr) {
        root.Fail(root.Unknown("pooling_mode", absl::StrCat(kExpectedModes, ", found ", name)));
        return;
      }
      on.push_back(mode);
    }
  } else {
    for (const Mode& mode : kModes) {
      if (root.IsTrue(mode.flag)) on.push_back(&mode);
    }
  }
  if (on.empty()) {
    root.Fail(
        root.Wrong("pooling_mode", absl::StrCat(kExpectedModes, ", as pooling_mode or as a true flag")));
    return;
  }
  for (const Mode* mode : on) {
    if (mode->pooling.has_value() && on.size() == 1) {
      config.pooling = *mode->pooling;
      continue;
    }
    const std::string_view key = root.Has("pooling_mode") ? "pooling_mode" : mode->flag;
    root.Fail(root.Unknown(key, absl::StrCat("exactly ", kExpectedModes)));
  }
}

absl::Status ReadPoolingModule(const std::string& folder, ModelConfig& config) {
  absl::StatusOr<JsonFile> file = JsonFile::Read(In(folder, "config.json"));
  if (!file.ok()) return file.status();
  const JsonNode root = file->root();
  ReadMode(root, config);
  for (const std::string_view width : {"embedding_dimension", "word_embedding_dimension"}) {
    if (root.Has(width)) root.Integer(width, config.hidden, config.hidden);
  }
  // Such models leave a prompt's tokens out of the mean.
  if (root.IsFalse("include_prompt")) root.Fail(root.Unknown("include_prompt", "true"));
  return file->status();
}

absl::Status ReadDenseModule(const std::string& folder, const std::string& name, ModelConfig& config) {
  absl::StatusOr<JsonFile> file = JsonFile::Read(In(folder, "config.json"));
  if (!file.ok()) return file.status();
  const JsonNode root = file->root();
  const int32_t width = config.dense.empty() ? config.hidden : config.dense.back().out;
  DenseLayer layer;
  layer.folder = name;
  layer.in = static_cast<int32_t>(root.Integer("in_features", width, width));
  layer.out = static_cast<int32_t>(root.Integer("out_features", 1, 1 << 20));
  const std::string activation = root.String("activation_function", "torch.nn.modules.activation.Tanh");
  if (activation.ends_with(".Tanh")) {
    layer.after = DenseLayer::After::kTanh;
  } else if (!activation.ends_with(".Identity")) {
    root.Fail(root.Unknown("activation_function", "Tanh or Identity of torch.nn.modules"));
  }
  for (const std::string_view key : {"module_input_name", "module_output_name"}) {
    if (root.Has(key) && root.String(key) != "sentence_embedding") {
      root.Fail(root.Unknown(key, "\"sentence_embedding\""));
    }
  }
  config.dense.push_back(std::move(layer));
  return file->status();
}

struct Module {
  std::string type;  // the class's own name
  std::string path;
};

// The modules after the encoder, in order.
absl::StatusOr<std::vector<Module>> ReadModules(const std::string& path) {
  absl::StatusOr<JsonFile> file = JsonFile::Read(path);
  if (!file.ok()) return file.status();
  std::vector<Module> modules;
  constexpr std::string_view kPackage = "sentence_transformers.";
  for (const JsonNode& node : file->root().Elements()) {
    const std::string type = node.String("type");
    Module module{type.substr(type.rfind('.') + 1), node.String("path")};
    const std::string_view expected = modules.empty()
                                          ? "Transformer of sentence_transformers"
                                          : "Pooling, Dense or Normalize of sentence_transformers";
    const bool known = modules.empty()
                           ? module.type == "Transformer"
                           : module.type == "Pooling" || module.type == "Dense" || module.type == "Normalize";
    if (!type.starts_with(kPackage) || !known) node.Fail(node.Unknown("type", expected));
    if (modules.empty() && !module.path.empty()) {
      node.Fail(node.Unknown("path", "\"\": the encoder's files in the folder itself"));
    }
    if (!modules.empty() && (module.path.find('/') != std::string::npos || module.path == "..")) {
      node.Fail(node.Wrong("path", "the name of a folder inside the model's"));
    }
    if (!file->status().ok()) return file->status();
    modules.push_back(std::move(module));
  }
  if (!file->status().ok()) return file->status();
  if (modules.empty()) return file->root().Wrong("", "a Transformer module first");
  modules.erase(modules.begin());
  return modules;
}

}  // namespace

absl::Status ReadPooling(const std::string& folder, ModelConfig& config) {
  const std::string path = In(folder, "modules.json");
  if (!Exists(path)) {
    const std::string pooling = In(folder, "1_Pooling");
    config.pooling = Pooling::kMean;
    return Exists(In(pooling, "config.json")) ? ReadPoolingModule(pooling, config) : absl::OkStatus();
  }
  absl::StatusOr<std::vector<Module>> modules = ReadModules(path);
  if (!modules.ok()) return modules.status();
  const auto misplaced = [&](const Module& module) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": ", module.type, " \"", module.path,
                     "\", expected Transformer, Pooling, then Dense layers, then Normalize"));
  };
  bool pooled = false;
  for (const Module& module : *modules) {
    const std::string inside = In(folder, module.path);
    absl::Status read;
    if ((module.type == "Pooling") == pooled || config.normalize != Normalize::kNone)
      return misplaced(module);
    if (module.type == "Pooling") {
      read = ReadPoolingModule(inside, config);
      pooled = true;
    } else if (module.type == "Dense") {
      read = ReadDenseModule(inside, module.path, config);
    } else {
      config.normalize = Normalize::kL2;
    }
    if (!read.ok()) return read;
  }
  if (!pooled && config.head == Head::kNone) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": no Pooling module, expected one after the Transformer"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int32_t>> ReadSentenceLength(const std::string& folder) {
  for (const std::string_view name : {"sentence_bert_config.json", "sentence_roberta_config.json",
                                      "sentence_camembert_config.json", "sentence_xlm-roberta_config.json"}) {
    const std::string path = In(folder, name);
    if (!Exists(path)) continue;
    absl::StatusOr<JsonFile> file = JsonFile::Read(path);
    if (!file.ok()) return file.status();
    const JsonNode root = file->root();
    std::optional<int32_t> length;
    if (root.Has("max_seq_length")) length = static_cast<int32_t>(root.Integer("max_seq_length", 1, kMost));
    // Today's files say what the encoder is used for; fill-mask, for one, is a sparse model's.
    const std::string task = root.String("transformer_task", "feature-extraction");
    if (task != "feature-extraction" && task != "sequence-classification") {
      root.Fail(root.Unknown("transformer_task", "\"feature-extraction\" or \"sequence-classification\""));
    }
    if (root.IsTrue("do_lower_case")) {
      root.Fail(root.Unknown("do_lower_case", "false: texts are taken as they are"));
    }
    if (!file->status().ok()) return file->status();
    return length;
  }
  return std::nullopt;
}

}  // namespace trellis::engine
