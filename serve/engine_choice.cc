#include "serve/engine_choice.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cpu/cpu_engine.h"
#include "serve/engine/cuda/opened_engine.h"
#include "serve/engine/synthetic/synthetic_engine.h"

namespace trellis::program {
namespace {

using Made = absl::StatusOr<ChosenEngine>;

Made Plain(absl::StatusOr<std::unique_ptr<engine::Engine>> made) {
  if (!made.ok()) return std::move(made).status();
  ChosenEngine chosen;
  chosen.engine = *std::move(made);
  return chosen;
}

Made Cuda(std::string_view settings) {
  auto opened = engine::cuda::OpenCudaEngine(settings);
  if (!opened.ok()) return std::move(opened).status();
  ChosenEngine chosen;
  chosen.engine = std::move(opened->engine);
  chosen.warm_up = std::move(opened->warm_up);
  chosen.graphs = std::move(opened->graphs);
  return chosen;
}

struct KnownEngine {
  const char* name;
  Made (*make)(std::string_view settings);
};

// A new engine is a line here.
constexpr KnownEngine kEngines[] = {
    {"cpu", [](std::string_view settings) { return Plain(engine::OpenCpuEngine(settings)); }},
    {"cuda", Cuda},
    {"synthetic", [](std::string_view settings) { return Plain(engine::MakeSyntheticEngine(settings)); }},
};

// What other programs call our numbers.
struct Dtype {
  std::string_view name, ours;
};
constexpr Dtype kDtypes[] = {{"float32", "f32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}};

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
      if (made.ok()) made->name = name;
      return made;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no engine is named '", name, "', expected one of: ", KnownEngines()));
}

absl::StatusOr<std::string> ChoiceOf(const ModelOnDevice& model) {
  std::string dtype = model.dtype;
  for (const Dtype& known : kDtypes) {
    if (dtype == known.name) dtype = std::string(known.ours);
  }
  const auto refuse = [&](const char* device, const char* expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dtype: ", model.dtype, ", expected ", expected, " with --device ", device));
  };
  if (model.device.empty() || model.device == "cpu") {
    if (dtype == "fp16") return refuse("cpu", "auto, f32, bf16 or int8");
    return absl::StrCat("cpu:", model.folder, ",dtype=", dtype,
                        model.threads > 0 ? absl::StrCat(",threads=", model.threads) : "");
  }
  std::string number = model.device == "cuda" ? "0" : "";
  if (model.device.starts_with("cuda:")) number = model.device.substr(5);
  if (number.empty() || number.size() > 4 ||
      !std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); })) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device: '", model.device, "', expected cpu, cuda or cuda:N, as in cuda:0"));
  }
  if (dtype != "auto" && dtype != "bf16" && dtype != "fp16") return refuse("cuda", "auto, bf16 or fp16");
  return absl::StrCat("cuda:", model.folder, ",device=", number, ",dtype=", dtype);
}

}  // namespace trellis::program
