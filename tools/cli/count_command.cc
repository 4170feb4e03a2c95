#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/encode_flags.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/jsonl_input.h"
#include "tools/cli/line_reader.h"
#include "tools/cli/model_options.h"
#include "tools/cli/parallel_lines.h"
#include "tools/cli/progress_bar.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/text_encoder.h"

namespace trellis::cli {
namespace {

constexpr char kAbout[] =
    "Count texts (lines), their bytes, tokens and unknown tokens, and tokens a second.\n"
    "Tokens are those that encode prints with the same options, the template's specials included.";

struct Settings {
  ModelOptions model;
  std::vector<std::string> files;
  EncodeFlags flags;
  bool json = false;
  bool jsonl = false;
  unsigned threads = 1;
};

struct Counts {
  uint64_t texts = 0;
  uint64_t bytes = 0;
  uint64_t tokens = 0;
  uint64_t unknown_tokens = 0;
};

class CountWorker final : public LineWorker {
 public:
  CountWorker(const Tokenizer& tokenizer, const Settings& settings, Counts& counts)
      : settings_(settings),
        unk_id_(tokenizer.vocab().unk_id()),
        input_(settings.flags),
        encoder_(tokenizer, TextEncoder::Columns::kIds),
        counts_(counts) {
    request_.options = settings.flags.Options();
  }

  absl::Status Line(std::string_view line, std::string&) override {
    if (settings_.jsonl) {
      const absl::Status parsed = input_.Parse(line, request_);
      if (!parsed.ok()) return parsed;
    } else {
      request_.input.text = line;
    }
    absl::StatusOr<Encoding> encoding = encoder_.Encode(request_.input, request_.options);
    if (!encoding.ok()) return encoding.status();
    counts_.texts += 1;
    counts_.bytes += request_.input.text.size() + request_.input.pair.value_or("").size();
    counts_.tokens += encoding->ids.size();
    if (unk_id_.has_value()) {
      counts_.unknown_tokens +=
          static_cast<uint64_t>(std::count(encoding->ids.begin(), encoding->ids.end(), *unk_id_));
    }
    return absl::OkStatus();
  }

 private:
  const Settings& settings_;
  const std::optional<TokenId> unk_id_;
  JsonlInput input_;
  TextRequest request_;
  TextEncoder encoder_;
  Counts& counts_;
};

std::string Printed(const Counts& counts, double seconds, const Settings& settings) {
  const auto rate = seconds > 0 ? static_cast<uint64_t>(static_cast<double>(counts.tokens) / seconds) : 0;
  std::string out;
  const auto row = [&](std::string_view name, std::string_view key, uint64_t value) {
    if (settings.json) {
      out += out.empty() ? "{" : ",";
      AppendJsonString(key, out);
      out += ':';
      AppendInteger(value, out);
      return;
    }
    out += name;
    out.append(16 - name.size(), ' ');
    AppendInteger(value, out);
    out += '\n';
  };
  row("texts", "texts", counts.texts);
  row("bytes", "bytes", counts.bytes);
  row("tokens", "tokens", counts.tokens);
  row("unknown tokens", "unknown_tokens", counts.unknown_tokens);
  row("tokens/s", "tokens_per_second", rate);
  if (settings.json) out += "}\n";
  return out;
}

absl::Status Run(const Settings& settings) {
  absl::StatusOr<Tokenizer> tokenizer = LoadModel(settings.model);
  if (!tokenizer.ok()) return tokenizer.status();
  LineReader reader(settings.files);
  std::vector<std::unique_ptr<Counts>> counts;  // one for each worker
  const auto start = std::chrono::steady_clock::now();
  {
    ProgressBar bar(reader.TotalBytes());
    const absl::Status status =
        RunLines(reader, ThreadCount(settings.threads),
                 {[&] {
                    counts.push_back(std::make_unique<Counts>());
                    return std::make_unique<CountWorker>(*tokenizer, settings, *counts.back());
                  },
                  [&bar](const LineChunk& chunk, std::string_view) {
                    bar.Advance(chunk.consumed());
                    return absl::OkStatus();
                  }});
    if (!status.ok()) return status;
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  Counts total;
  for (const auto& one : counts) {
    total.texts += one->texts;
    total.bytes += one->bytes;
    total.tokens += one->tokens;
    total.unknown_tokens += one->unknown_tokens;
  }
  return WriteStandardOutput(Printed(total, spent.count(), settings));
}

}  // namespace

Command AddCountCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("count", kAbout);
  auto settings = std::make_shared<Settings>();
  AddModelOptions(*app, settings->model);
  app->add_option("FILE", settings->files, "files to read; - is standard input, and so is none")->type_name("PATH");
  AddEncodeFlags(*app, settings->flags);
  app->add_flag("--json", settings->json, "print one JSON object");
  app->add_flag("--jsonl", settings->jsonl, "read one JSON string or object a line, as encode does");
  app->add_option("--threads", settings->threads, "threads that encode, 1 unless given; 0: one for each core")
      ->check(CLI::Range(0, 1024));
  app->callback([settings] {
    if (settings->flags.truncate.has_value() && !settings->flags.max_length.has_value() && !settings->jsonl) {
      throw CLI::ValidationError("--truncation", "needs --max-length");
    }
  });
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
