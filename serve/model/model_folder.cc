#include "serve/model/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "serve/engine/json_file.h"
#include "serve/engine/pooling_config.h"
#include "trellis/load.h"

namespace trellis::model {
namespace {

// By number; a label without a name has the one that transformers would give it.
absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& folder, int32_t count) {
  absl::StatusOr<engine::JsonFile> file =
      engine::JsonFile::Read((std::filesystem::path(folder) / "config.json").string());
  if (!file.ok()) return file.status();
  const engine::JsonNode root = file->root();
  std::vector<std::string> labels;
  for (int32_t i = 0; i < count; ++i) labels.push_back(absl::StrCat("LABEL_", i));
  if (count > 0 && root.Has("id2label")) {
    for (const auto& [number, name] : root.Child("id2label").Fields()) {
      int32_t index = -1;
      // ReadModelConfig has seen that the numbers are all there.
      if (absl::SimpleAtoi(number, &index) && index >= 0 && index < count) {
        labels[static_cast<size_t>(index)] = name.Text();
      }
    }
  }
  if (!file->status().ok()) return file->status();
  return labels;
}

// A .model does not say how a model numbers its pieces; XLM-RoBERTa's rule is known, others are not guessed.
absl::StatusOr<Tokenizer> OpenTokenizer(const std::string& folder, const TokenizerSettings& settings) {
  namespace fs = std::filesystem;
  const fs::path json = fs::path(folder) / "tokenizer.json";
  std::error_code error;
  if (fs::exists(json, error) || !settings.tokenizer_class.starts_with("XLMRoberta"))
    return LoadTokenizer(json.string());
  LoadOptions options;
  options.sentencepiece.fairseq = true;
  return LoadTokenizer(folder, options);
}

size_t Specials(const std::vector<TemplatePiece>& pieces) {
  size_t count = 0;
  for (const TemplatePiece& piece : pieces) {
    if (const auto* special = std::get_if<TemplateSpecial>(&piece)) count += special->ids.size();
  }
  return count;
}

absl::Status CheckTogether(const std::string& folder, const ModelFolder& model) {
  const TokenId ids = model.tokenizer.vocab().size();
  if (ids > model.config.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": the tokenizer has ", ids,
                                                   " ids, expected at most the ", model.config.vocab_size,
                                                   " that config.json says (vocab_size)"));
  }
  const PostProcessorTemplate& form = model.tokenizer.spec_without_pieces().post_processor;
  if (model.config.labels == 1 && Specials(form.pair) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(folder,
                                                   ": the tokenizer's post_processor puts nothing between "
                                                   "the texts of a pair, expected a special token there: "
                                                   "the model is a reranker"));
  }
  const size_t specials = std::max(Specials(form.single), Specials(form.pair));
  if (static_cast<size_t>(model.max_tokens) <= specials) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": rows of at most ", model.max_tokens,
                                                   " tokens, expected more than the ", specials,
                                                   " special ones that the tokenizer's post_processor adds"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelFolder> ReadModelFolder(const std::string& folder) {
  if (std::error_code error; !std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": no folder, expected one with config.json and tokenizer.json"));
  }
  absl::StatusOr<engine::ModelConfig> config = engine::ReadModelConfig(folder);
  if (!config.ok()) return config.status();
  absl::StatusOr<Prompts> prompts = ReadPrompts(folder);
  if (!prompts.ok()) return prompts.status();
  absl::StatusOr<TokenizerSettings> settings = ReadTokenizerSettings(folder);
  if (!settings.ok()) return settings.status();
  absl::StatusOr<std::optional<int32_t>> length = engine::ReadSentenceLength(folder);
  if (!length.ok()) return length.status();
  absl::StatusOr<std::vector<std::string>> labels = ReadLabels(folder, config->labels);
  if (!labels.ok()) return labels.status();
  absl::StatusOr<Tokenizer> tokenizer = OpenTokenizer(folder, *settings);
  if (!tokenizer.ok()) return tokenizer.status();

  int32_t max_tokens = config->max_row_tokens;
  if (!length->has_value() && settings->max_length.has_value())
    max_tokens = std::min(max_tokens, *settings->max_length);
  const TypeIds type_ids = config->type_vocab_size > 1 ? settings->type_ids : TypeIds::kZero;
  ModelFolder model{*std::move(tokenizer), *std::move(prompts), max_tokens, type_ids,
                    *std::move(labels),    *std::move(config)};
  if (const absl::Status checked = CheckTogether(folder, model); !checked.ok()) return checked;
  return model;
}

}  // namespace trellis::model
