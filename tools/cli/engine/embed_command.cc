#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/cli/commands.h"
#include "tools/cli/encode_flags.h"
#include "tools/cli/engine/engine_options.h"
#include "tools/cli/engine/engine_rows.h"
#include "tools/cli/engine/npy_file.h"
#include "tools/cli/engine/text_lines.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/text_encoder.h"

namespace trellis::cli {
namespace {

constexpr char kAbout[] =
    "Embed one text per line; prints its vector, one JSON array of numbers a line.\n"
    "Texts that are longer than the model allows are cut.";

constexpr char kFooter[] =
    "Without --prompt and --prompt-name the model's default prompt is used, if its folder names one. A "
    "prompt is\n"
    "put in front of the text as it stands, blanks included. --dimensions cuts first and normalizes then.\n"
    "Exit status: 0 all well; 1 the input or the model is at fault; 2 wrong usage.";

const std::map<std::string, engine::Pooling> kPoolings = {{"model", engine::Pooling::kModel},
                                                          {"mean", engine::Pooling::kMean},
                                                          {"cls", engine::Pooling::kCls},
                                                          {"last", engine::Pooling::kLast}};

struct Settings {
  EngineOptions engine;
  std::optional<std::string> prompt;
  std::optional<std::string> prompt_name;
  engine::RowTask task;
  std::optional<size_t> max_length;
  std::string npy;
};

absl::StatusOr<std::string> PromptOf(const Settings& settings, const model::Prompts& prompts) {
  if (settings.prompt.has_value()) return *settings.prompt;
  if (!settings.prompt_name.has_value()) return std::string(prompts.Default());
  absl::StatusOr<std::string_view> named = prompts.Named(*settings.prompt_name);
  if (named.ok()) return std::string(*named);
  return absl::Status(named.status().code(),
                      absl::StrCat(settings.engine.folder, ": ", std::string(named.status().message())));
}

absl::Status CheckModel(const Settings& settings, const engine::EngineLimits& limits) {
  if (!limits.tasks[static_cast<size_t>(engine::Task::kEmbed)]) {
    return absl::FailedPreconditionError(
        absl::StrCat(settings.engine.folder, ": a classifier, expected a model that embeds"));
  }
  if (settings.task.dimensions > limits.dimensions) {
    return absl::InvalidArgumentError(absl::StrCat("--dimensions ", settings.task.dimensions,
                                                   ": expected at most the model's ", limits.dimensions));
  }
  return absl::OkStatus();
}

absl::Status Run(const Settings& settings) {
  absl::StatusOr<OpenedModel> opened = OpenModel(settings.engine);
  if (!opened.ok()) return opened.status();
  const model::ModelFolder& folder = opened->folder;
  const engine::EngineLimits& limits = opened->engine->limits();
  if (const absl::Status checked = CheckModel(settings, limits); !checked.ok()) return checked;
  const absl::StatusOr<std::string> prompt = PromptOf(settings, folder.prompts);
  if (!prompt.ok()) return prompt.status();

  NpyFile npy;
  if (!settings.npy.empty()) {
    const int32_t columns = settings.task.dimensions > 0 ? settings.task.dimensions : limits.dimensions;
    const absl::Status made = npy.Open(settings.npy, static_cast<size_t>(columns));
    if (!made.ok()) return made;
  }
  std::string out;
  EngineRows rows(*opened->engine, settings.task, [&](std::span<const float> values) {
    if (!settings.npy.empty()) return npy.Append(values);
    AppendJsonArray(values, out, AppendJsonFloat);
    out += '\n';
    return absl::OkStatus();
  });

  const size_t limit = static_cast<size_t>(folder.max_tokens);
  EncodeFlags flags;
  flags.max_length = std::min(settings.max_length.value_or(limit), limit);
  TextEncoder encoder(folder.tokenizer, TextEncoder::Columns::kAll);
  std::string text;
  TextWork work;
  work.each = [&](const TextRequest& request) -> absl::Status {
    text.assign(*prompt).append(request.input.text);
    EncodeOptions options = request.options;
    options.max_length = std::min(options.max_length, limit);
    const absl::StatusOr<Encoding> encoding = encoder.Encode({text}, options);
    if (!encoding.ok()) return encoding.status();
    const bool typed = folder.type_ids == model::TypeIds::kTemplate;
    return rows.Add(encoding->ids, typed ? encoding->type_ids : std::span<const uint8_t>());
  };
  work.pause = [&] {
    const absl::Status finished = rows.Finish();
    const absl::Status written = WriteStandardOutput(std::exchange(out, {}));
    return finished.ok() ? written : finished;
  };
  const absl::Status done = ForEachText(
      settings.engine.files, settings.engine.jsonl ? LineForm::kJson : LineForm::kText, flags, work);
  if (!done.ok()) return done;
  return settings.npy.empty() ? absl::OkStatus() : npy.Close();
}

}  // namespace

Command AddEmbedCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("embed", kAbout);
  app->footer(kFooter);
  auto settings = std::make_shared<Settings>();
  AddModelFolder(*app, settings->engine);
  AddEngineOptions(*app, settings->engine);
  CLI::Option* prompt = app->add_option("--prompt", settings->prompt, "text to put in front of each");
  app->add_option("--prompt-name", settings->prompt_name, "the prompt of this name in the model's folder")
      ->excludes(prompt);
  app->add_option_function<std::string>(
         "--pooling", [settings](const std::string& name) { settings->task.pooling = kPoolings.at(name); },
         "mean, cls or last instead of the model's own")
      ->check(CLI::IsMember({"model", "mean", "cls", "last"}));
  app->add_option("--dimensions", settings->task.dimensions, "only the first N numbers")
      ->check(CLI::Range(1, 1 << 20));
  app->add_flag_callback(
      "--no-normalize", [settings] { settings->task.normalize = engine::Normalize::kNone; },
      "leave out the normalization that the model itself does not do");
  app->add_option("--max-length", settings->max_length, "cut texts to N tokens, if the model allows as many")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--npy", settings->npy,
                  "write a NumPy file of float32, one row a text, instead of JSON; no device or pipe")
      ->type_name("PATH");
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
