// The engines that this program was built with, by name.
#ifndef TRELLIS_SERVE_ENGINE_CHOICE_H_
#define TRELLIS_SERVE_ENGINE_CHOICE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/engine/engine.h"

namespace trellis::program {

// Their names, as a list in a sentence.
std::string KnownEngines();

struct ChosenEngine {
  std::string name;  // for metrics and logs
  std::unique_ptr<engine::Engine> engine;
};

// `choice` is NAME or NAME:settings; what the settings mean is the engine's own affair. NotFound: no engine
// has this name.
absl::StatusOr<ChosenEngine> MakeEngine(std::string_view choice);

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_ENGINE_CHOICE_H_
