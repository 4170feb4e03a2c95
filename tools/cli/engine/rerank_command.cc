#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/cli/commands.h"
#include "tools/cli/encode_flags.h"
#include "tools/cli/engine/engine_options.h"
#include "tools/cli/engine/engine_rows.h"
#include "tools/cli/engine/text_lines.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/text_encoder.h"

namespace trellis::cli {
namespace {

constexpr char kAbout[] =
    "Score how well documents, one per line, answer a query; prints {\"index\",\"score\"} a line, best "
    "first.\n"
    "index counts the documents from 0. Pairs that are longer than the model allows are cut, the longer text "
    "first.";

struct Settings {
  EngineOptions engine;
  std::string query;
  std::optional<size_t> top_n;
  bool raw_scores = false;
};

// Best first; of equal ones the earlier document first.
std::vector<size_t> Ranked(std::span<const float> logits) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  return order;
}

float Sigmoid(float logit) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit)))); }

absl::Status Run(const Settings& settings) {
  absl::StatusOr<OpenedModel> opened = OpenModel(settings.engine);
  if (!opened.ok()) return opened.status();
  const model::ModelFolder& folder = opened->folder;
  const engine::EngineLimits& limits = opened->engine->limits();
  if (!limits.tasks[static_cast<size_t>(engine::Task::kClassify)] || limits.labels != 1) {
    return absl::FailedPreconditionError(absl::StrCat(settings.engine.folder, ": a model with ",
                                                      limits.labels,
                                                      " labels, expected a reranker, which has one"));
  }
  std::vector<float> logits;
  engine::RowTask task;
  task.task = engine::Task::kClassify;
  EngineRows rows(*opened->engine, task, [&](std::span<const float> values) {
    if (values.size() != 1) return absl::InternalError(absl::StrCat(values.size(), " scores, expected one"));
    logits.push_back(values[0]);
    return absl::OkStatus();
  });

  const size_t limit = static_cast<size_t>(folder.max_tokens);
  EncodeFlags flags;
  flags.max_length = limit;
  TextEncoder encoder(folder.tokenizer, TextEncoder::Columns::kAll);
  TextWork work;
  work.each = [&](const TextRequest& request) -> absl::Status {
    EncodeOptions options = request.options;
    options.max_length = std::min(options.max_length, limit);
    const absl::StatusOr<Encoding> encoding = encoder.Encode({settings.query, request.input.text}, options);
    if (!encoding.ok()) return encoding.status();
    const bool typed = folder.type_ids == model::TypeIds::kTemplate;
    return rows.Add(encoding->ids, typed ? encoding->type_ids : std::span<const uint8_t>());
  };
  work.pause = [&] { return rows.Finish(); };
  const absl::Status done = ForEachText(
      settings.engine.files, settings.engine.jsonl ? LineForm::kJson : LineForm::kText, flags, work);
  if (!done.ok()) return done;

  std::vector<size_t> order = Ranked(logits);
  if (settings.top_n.has_value() && *settings.top_n < order.size()) order.resize(*settings.top_n);
  std::string out;
  for (const size_t index : order) {
    out += "{\"index\":";
    AppendInteger(index, out);
    out += ",\"score\":";
    AppendJsonFloat(settings.raw_scores ? logits[index] : Sigmoid(logits[index]), out);
    out += "}\n";
  }
  return WriteStandardOutput(out);
}

}  // namespace

Command AddRerankCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("rerank", kAbout);
  auto settings = std::make_shared<Settings>();
  AddModelFolder(*app, settings->engine);
  app->add_option("QUERY", settings->query, "the query")->required();
  AddEngineOptions(*app, settings->engine);
  app->add_option("--top-n", settings->top_n, "print only the N best")->check(CLI::Range(1, 1 << 30));
  app->add_flag("--raw-scores", settings->raw_scores, "the model's own numbers, not their sigmoid, which is taken whatever activation the folder names");
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
