#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/line_reader.h"
#include "tools/cli/model_options.h"
#include "tools/cli/parallel_lines.h"
#include "tools/cli/standard_output.h"
#include "trellis/growing_scratch.h"

namespace trellis::cli {
namespace {

constexpr char kAbout[] =
    "Decode one line of token ids, separated by blanks or as a JSON array, to text.\n"
    "A text may hold line ends of its own: --json keeps one text to one line.";

constexpr TokenId kMostId = std::numeric_limits<TokenId>::max();

struct Settings {
  ModelOptions model;
  std::vector<std::string> files;
  DecodeOptions options;
  bool json = false;
  unsigned threads = 1;
};

absl::Status NotAnId(std::string_view found) {
  std::string message = "expected a token id, 0 to " + std::to_string(kMostId) + ", found ";
  AppendJsonString(found.substr(0, 40), message);
  return absl::InvalidArgumentError(message);
}

// The ids of one line, in memory that is kept for the next.
class IdLine {
 public:
  absl::Status Parse(std::string_view line) {
    ids_.clear();
    const size_t start = line.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return absl::OkStatus();
    return line[start] == '[' ? ParseArray(line) : ParseWords(line.substr(start));
  }
  const std::vector<TokenId>& ids() const { return ids_; }

 private:
  static constexpr std::string_view kBlanks = " \t\r";

  absl::Status ParseWords(std::string_view line) {
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
      TokenId id = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      if (error != std::errc() || end != word.data() + word.size() || id < 0) return NotAnId(word);
      ids_.push_back(id);
      line.remove_prefix(word.size());
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    }
    return absl::OkStatus();
  }

  absl::Status ParseArray(std::string_view line) {
    simdjson::dom::array array;
    const simdjson::error_code error =
        parser_.parse(line.data(), line.size(), /*realloc_if_needed=*/false).get(array);
    if (error != simdjson::SUCCESS) {
      return absl::InvalidArgumentError(std::string("expected a JSON array of token ids: ") +
                                        simdjson::error_message(error));
    }
    for (const simdjson::dom::element element : array) {
      uint64_t id = 0;
      if (element.get(id) != simdjson::SUCCESS || id > uint64_t{kMostId}) {
        return NotAnId(simdjson::minify(element));
      }
      ids_.push_back(static_cast<TokenId>(id));
    }
    return absl::OkStatus();
  }

  std::vector<TokenId> ids_;
  simdjson::dom::parser parser_;
};

class DecodeWorker final : public LineWorker {
 public:
  DecodeWorker(const Tokenizer& tokenizer, const Settings& settings)
      : tokenizer_(tokenizer), settings_(settings) {}

  absl::Status Line(std::string_view line, std::string& out) override {
    const absl::Status parsed = line_.Parse(line);
    if (!parsed.ok()) return parsed;
    absl::StatusOr<std::string_view> text = DecodeGrowing(tokenizer_, line_.ids(), settings_.options, text_);
    if (!text.ok()) {
      return absl::InvalidArgumentError("cannot decode: " + text.status().ToString());
    }
    if (settings_.json) {
      AppendJsonString(*text, out);
    } else {
      out += *text;
    }
    out += '\n';
    return absl::OkStatus();
  }

 private:
  const Tokenizer& tokenizer_;
  const Settings& settings_;
  IdLine line_;
  std::string text_;
};

absl::Status Run(const Settings& settings) {
  absl::StatusOr<Tokenizer> tokenizer = LoadModel(settings.model);
  if (!tokenizer.ok()) return tokenizer.status();
  LineReader reader(settings.files);
  return RunLines(reader, ThreadCount(settings.threads),
                  {[&] { return std::make_unique<DecodeWorker>(*tokenizer, settings); },
                   [](const LineChunk&, std::string_view out) { return WriteStandardOutput(out); }});
}

}  // namespace

Command AddDecodeCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("decode", kAbout);
  auto settings = std::make_shared<Settings>();
  AddModelOptions(*app, settings->model);
  app->add_option("FILE", settings->files, "files to read; - is standard input, and so is none")->type_name("PATH");
  app->add_flag_callback(
      "--keep-special-tokens", [settings] { settings->options.skip_special_tokens = false; },
      "print special tokens too");
  app->add_flag("--clean-up", settings->options.clean_up,
                "no blank before English punctuation and contractions, as clean_up_tokenization_spaces");
  app->add_flag("--json", settings->json, "print one JSON string a line");
  app->add_option("--threads", settings->threads,
                  "threads that decode, 1 unless given; 0: one for each core; the order of lines is kept")
      ->check(CLI::Range(0, 1024));
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
