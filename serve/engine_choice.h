// The engines that this program was built with, by name, and the ways to say which.
#ifndef TRELLIS_SERVE_ENGINE_CHOICE_H_
#define TRELLIS_SERVE_ENGINE_CHOICE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/graph_counters.h"
#include "serve/engine/engine.h"

namespace trellis::program {

// Their names, as a list in a sentence.
std::string KnownEngines();

struct ChosenEngine {
  std::string name;  // for metrics and logs
  std::unique_ptr<engine::Engine> engine;
  // Null, or to be called once before the first batch; what it says is for the log, and an error means that
  // the engine must not be served.
  std::function<absl::StatusOr<std::string>()> warm_up;
  std::shared_ptr<const engine::cuda::GraphStatistics> graphs;  // null: it has no graphs
};

// `choice` is NAME or NAME:settings; what the settings mean is the engine's own affair. NotFound: no engine
// has this name.
absl::StatusOr<ChosenEngine> MakeEngine(std::string_view choice);

// A model's folder and where it is to run, as --model, --device, --dtype and --threads have it.
struct ModelOnDevice {
  std::string folder;
  std::string device = {};  // cpu, cuda or cuda:N; empty: cpu
  std::string dtype = "auto";
  int threads = 0;
};
// The choice that says the same. InvalidArgument: no such device, or numbers that it does not compute with;
// the message begins with the flag.
absl::StatusOr<std::string> ChoiceOf(const ModelOnDevice& model);

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_ENGINE_CHOICE_H_
