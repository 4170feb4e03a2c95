// `trellis-bench`: how long encoding takes, from a model and labelled texts.
#include <sched.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/end_to_end/encode_bench.h"
#include "bench/end_to_end/hash_map_path.h"
#include "bench/end_to_end/labelled_texts.h"
#include "bench/end_to_end/text_ids.h"
#include "bench/end_to_end/text_path.h"
#include "trellis/load.h"

namespace {

using trellis::bench::Columns;
using trellis::bench::LabelledTexts;
using trellis::bench::LabelResult;
using trellis::bench::TextPath;

constexpr int kFault = 1;
constexpr int kWrongUsage = 2;
constexpr size_t kFreshPasses = 9;

struct Settings {
  std::string model;
  std::string texts;
  std::string mode;
  trellis::LoadOptions load;
  bool hash_map_trie = false;  // which the library does not have
  std::optional<uint64_t> iterations;
  std::optional<int> cpu;
  bool offsets = false;
  bool json = false;
};

// Sheds the scheduler: this thread stays on one core from here on.
absl::Status PinThread(std::optional<int> wanted) {
  const int cpu = wanted.has_value() ? *wanted : sched_getcpu();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError("cannot pin the thread to core " + std::to_string(cpu) +
                                    ": expected a core that this program may use");
}

std::string Number(double value, const char* format) {
  if (!std::isfinite(value)) return "null";
  char digits[64];
  std::snprintf(digits, sizeof(digits), format, value);
  return digits;
}

std::string JsonString(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string AsJson(const LabelResult& r) {
  return "{\"label\":" + JsonString(r.label) + ",\"texts\":" + std::to_string(r.texts) +
         ",\"tokens\":" + std::to_string(r.tokens) + ",\"bytes\":" + std::to_string(r.bytes) +
         ",\"p50_us\":" + Number(r.p50_us, "%.4f") + ",\"p99_us\":" + Number(r.p99_us, "%.4f") +
         ",\"us_per_512_tokens\":" + Number(r.us_per_512_tokens, "%.4f") +
         ",\"allocations\":" + Number(r.allocations, "%.6g") + "}\n";
}

std::string AsRow(const LabelResult& r) {
  char row[256];
  std::snprintf(row, sizeof(row), "%-20s %6zu %9llu %10llu %11s %11s %13s %12s\n", r.label.c_str(), r.texts,
                static_cast<unsigned long long>(r.tokens), static_cast<unsigned long long>(r.bytes),
                Number(r.p50_us, "%.2f").c_str(), Number(r.p99_us, "%.2f").c_str(),
                Number(r.us_per_512_tokens, "%.2f").c_str(), Number(r.allocations, "%.4g").c_str());
  return row;
}

absl::StatusOr<std::vector<LabelResult>> Measure(const Settings& settings, const TextPath& path,
                                                 const std::vector<LabelledTexts>& labels) {
  const Columns columns = settings.offsets ? Columns::kIdsAndOffsets : Columns::kIds;
  const auto check = [&] {
    return settings.hash_map_trie ? trellis::bench::CheckAgainstTokenizer(path, columns, labels)
                                  : absl::OkStatus();
  };
  if (settings.mode == "once") {
    // Afterwards: a check before would make the one pass the second.
    absl::StatusOr<std::vector<LabelResult>> results = trellis::bench::BenchFresh(path, columns, labels, 1);
    if (const absl::Status checked = check(); results.ok() && !checked.ok()) return checked;
    return results;
  }
  if (const absl::Status checked = check(); !checked.ok()) return checked;
  if (settings.mode == "fresh") return trellis::bench::BenchFresh(path, columns, labels, kFreshPasses);
  if (settings.iterations.has_value()) {
    return trellis::bench::LoopRepeated(path, columns, labels, *settings.iterations);
  }
  return trellis::bench::BenchRepeated(path, columns, labels);
}

absl::StatusOr<std::unique_ptr<TextPath>> PathFor(const Settings& settings,
                                                  const trellis::Tokenizer& tokenizer) {
  if (settings.hash_map_trie) return trellis::bench::HashMapPath::Create(tokenizer);
  return std::make_unique<trellis::bench::TokenizerPath>(tokenizer);
}

absl::StatusOr<std::string> Report(const Settings& settings, const TextPath& path,
                                   const std::vector<LabelledTexts>& labels) {
  if (settings.mode == "ids") return trellis::bench::IdLines(path, labels);
  absl::StatusOr<std::vector<LabelResult>> results = Measure(settings, path, labels);
  if (!results.ok()) return results.status();
  std::string out;
  if (!settings.json) {
    char header[256];
    std::snprintf(header, sizeof(header), "%-20s %6s %9s %10s %11s %11s %13s %12s\n", "label", "texts",
                  "tokens", "bytes", "p50 us", "p99 us", "us/512 tokens", "allocations");
    out = header;
  }
  for (const LabelResult& result : *results) out += settings.json ? AsJson(result) : AsRow(result);
  return out;
}

absl::Status Run(const Settings& settings) {
  const absl::Status pinned = PinThread(settings.cpu);
  if (!pinned.ok()) return pinned;
  absl::StatusOr<std::vector<LabelledTexts>> labels = trellis::bench::ReadLabelledTexts(settings.texts);
  if (!labels.ok()) return labels.status();
  absl::StatusOr<trellis::Tokenizer> tokenizer = trellis::LoadTokenizer(settings.model, settings.load);
  if (!tokenizer.ok()) return tokenizer.status();
  absl::StatusOr<std::unique_ptr<TextPath>> path = PathFor(settings, *tokenizer);
  if (!path.ok()) return path.status();
  absl::StatusOr<std::string> out = Report(settings, **path, *labels);
  if (!out.ok()) return out.status();
  if (std::fwrite(out->data(), 1, out->size(), stdout) != out->size() || std::fflush(stdout) != 0) {
    return absl::DataLossError("standard output: cannot write");
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Times of single Encode calls on one pinned thread; special tokens are not added.\n"
      "repeated: each text alone in a loop after warm-up.\n"
      "fresh: the labels interleaved over their texts, every text once a pass, 9 passes, the word cache\n"
      "cleared for each label and pass; the median pass.\n"
      "once: one such pass in this new process.\n"
      "ids: no times; the ids of one text a line, label by label.",
      "trellis-bench");
  Settings settings;
  app.add_option("MODEL", settings.model, "tokenizer.json, SentencePiece .model, or a folder that holds one")
      ->required();
  app.add_option("TEXTS", settings.texts, "[[label, text], ...] in JSON; several texts may share a label")
      ->required();
  app.add_option("--mode", settings.mode, "repeated, fresh, once or ids")
      ->required()
      ->check(CLI::IsMember({"repeated", "fresh", "once", "ids"}));
  app.add_flag("--offsets", settings.offsets, "compute offsets too, not only ids");
  CLI::Option* plain = app.add_flag_callback(
      "--plain", [&] { settings.load.tokenizer.shortcuts = false; }, "switch every shortcut off");
  app.add_option_function<std::string>(
         "--trie",
         [&](const std::string& name) {
           settings.hash_map_trie = name == "hash-map";
           settings.load.tokenizer.trie = name == "double-array"
                                              ? trellis::TokenizerOptions::TrieKind::kDoubleArray
                                              : trellis::TokenizerOptions::TrieKind::kBitmapPacked;
         },
         "the byte trie: bitmap (default) or double-array; with --plain also hash-map, which only\n"
         "this program has")
      ->check(CLI::IsMember({"bitmap", "double-array", "hash-map"}));
  app.add_flag("--huge-pages", settings.load.tokenizer.huge_pages, "ask for 2 MB pages for the tables");
  app.add_flag("--fairseq", settings.load.sentencepiece.fairseq,
               "number a .model's pieces as XLM-RoBERTa does");
  CLI::Option* iterations =
      app.add_option("--iterations", settings.iterations,
                     "repeated only: encode each text exactly so often, no warm-up, no clock; for tools that "
                     "count instructions")
          ->check(CLI::NonNegativeNumber);
  app.add_option("--cpu", settings.cpu, "the core to stay on; the current one unless given");
  app.add_flag("--json", settings.json, "print one JSON object a line");
  app.callback([&] {
    if (iterations->count() > 0 && settings.mode != "repeated") {
      throw CLI::ValidationError("--iterations", "needs --mode repeated");
    }
    if (settings.hash_map_trie && plain->count() == 0) {
      throw CLI::ValidationError("--trie", "hash-map needs --plain");
    }
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  const absl::Status status = Run(settings);
  if (status.ok()) return 0;
  std::cerr << std::string(status.message()) << std::endl;
  return kFault;
}
