// An engine without a model: for tests and load runs. It takes as long as it is told to, on a thread of its
// own, fails where it is told to, answers with values that can be worked out by hand (synthetic_values.h),
// and watches that its caller keeps engine.h's contract.
#ifndef TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_ENGINE_H_
#define TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_ENGINE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/engine/engine.h"
#include "serve/engine/synthetic/synthetic_options.h"

namespace trellis::engine {

std::unique_ptr<Engine> MakeSyntheticEngine(const SyntheticOptions& options);
// From a command line; see ParseSyntheticOptions.
absl::StatusOr<std::unique_ptr<Engine>> MakeSyntheticEngine(std::string_view spec);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_ENGINE_H_
