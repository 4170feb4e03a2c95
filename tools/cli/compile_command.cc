#include <memory>
#include <string>

#include "tools/cli/commands.h"
#include "tools/cli/model_options.h"

namespace trellis::cli {
namespace {

constexpr char kAbout[] =
    "Write the finished tables of a model to a file that every command takes in its place. It is\n"
    "mapped: ready in milliseconds, shared by all processes. For this version of trellis and\n"
    "machines of this byte order; another refuses it. What was in the place of FILE is replaced\n"
    "once the new file is whole.";

struct Settings {
  std::string path;
  std::string out;
  LoadOptions load;
};

absl::Status Run(const Settings& settings) {
  const absl::StatusOr<TokenizerSpec> spec = LoadSpec(settings.path, settings.load);
  if (!spec.ok()) return spec.status();
  return CompileTokenizer(*spec, settings.out);
}

}  // namespace

Command AddCompileCommand(CLI::App& trellis) {
  CLI::App* app = trellis.add_subcommand("compile", kAbout);
  auto settings = std::make_shared<Settings>();
  AddModelArgument(*app, settings->path);
  AddFairseqFlag(*app, settings->load.sentencepiece);
  app->add_option("-o,--output", settings->out, "the file to write, e.g. model.trellis")
      ->type_name("PATH")
      ->required();
  return {app, [settings] { return Run(*settings); }};
}

}  // namespace trellis::cli
