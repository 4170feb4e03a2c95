#include "serve/engine_choice.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "serve/engine/synthetic/synthetic_engine.h"

namespace trellis::program {
namespace {

using Made = absl::StatusOr<std::unique_ptr<engine::Engine>>;

struct KnownEngine {
  const char* name;
  Made (*make)(std::string_view settings);
};

// A new engine is a line here.
constexpr KnownEngine kEngines[] = {
    {"cpu", [](std::string_view settings) { return engine::OpenCpuEngine(settings); }},
    {"synthetic", [](std::string_view settings) { return engine::MakeSyntheticEngine(settings); }},
};

}  // namespace

std::string KnownEngines() {
  std::string names;
  for (const KnownEngine& known : kEngines) absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
  return names;
}

absl::StatusOr<ChosenEngine> MakeEngine(std::string_view choice) {
  const size_t colon = choice.find(':');
  const std::string name(choice.substr(0, colon));
  const std::string_view settings = colon == std::string_view::npos ? "" : choice.substr(colon + 1);
  for (const KnownEngine& known : kEngines) {
    if (name == known.name) {
      Made made = known.make(settings);
      if (!made.ok()) return std::move(made).status();
      return ChosenEngine{name, *std::move(made)};
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no engine is named '", name, "', expected one of: ", KnownEngines()));
}

}  // namespace trellis::program
