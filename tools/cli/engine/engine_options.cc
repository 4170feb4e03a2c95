#include "tools/cli/engine/engine_options.h"

#include <utility>

#include "serve/engine/cpu/cpu_engine.h"

namespace trellis::cli {

using engine::cpu::Precision;

void AddModelFolder(CLI::App& command, EngineOptions& options) {
  command
      .add_option("MODEL", options.folder,
                  "folder with config.json, model.safetensors and tokenizer.json, as transformers and "
                  "sentence-transformers save it")
      ->type_name("FOLDER")
      ->required();
}

void AddEngineOptions(CLI::App& command, EngineOptions& options) {
  command.add_option("FILE", options.files, "files to read; - is standard input, and so is none")->type_name("PATH");
  command.add_flag("--jsonl", options.jsonl, "read one JSON string or object a line, as encode does");
  command
      .add_option(
          "--dtype", options.dtype,
          "numbers to compute with: f32 is exact, bf16 and int8 are faster; auto: the fastest that keeps "
          "rankings on this processor")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "int8"}));
  command.add_option("--threads", options.threads, "threads that compute; 0, the default: one for each core")
      ->check(CLI::Range(0, 1024));
}

absl::StatusOr<OpenedModel> OpenModel(const EngineOptions& options) {
  absl::StatusOr<model::ModelFolder> folder = model::ReadModelFolder(options.folder);
  if (!folder.ok()) return folder.status();
  engine::CpuEngineOptions cpu;
  cpu.folder = options.folder;
  cpu.threads = options.threads;
  for (const Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
    if (engine::cpu::NameOf(precision) == options.dtype) cpu.precision = precision;
  }
  absl::StatusOr<std::unique_ptr<engine::Engine>> made = engine::OpenCpuEngine(cpu);
  if (!made.ok()) return made.status();
  return OpenedModel{*std::move(folder), *std::move(made)};
}

}  // namespace trellis::cli
