// The embedded engine: a model's folder on this machine's processor, without anything else.
#ifndef TRELLIS_SERVE_ENGINE_CPU_CPU_ENGINE_H_
#define TRELLIS_SERVE_ENGINE_CPU_CPU_ENGINE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/engine/checkpoint.h"
#include "serve/engine/cpu/cpu_options.h"
#include "serve/engine/engine.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine {

// Batches are computed one after another, each by all threads; the next may be handed over meanwhile. A row's
// values do not depend on its neighbours, nor on its place: cpu_engine_test.cc compares them bit for bit.
// Unimplemented: the dtype that is asked for is none of this processor's, by name.
absl::StatusOr<std::unique_ptr<Engine>> CreateCpuEngine(const ModelConfig& config, Weights weights,
                                                        const HeadWeights& beside,
                                                        const CpuEngineOptions& options);

// Reads config and weights from options.folder.
absl::StatusOr<std::unique_ptr<Engine>> OpenCpuEngine(const CpuEngineOptions& options);
// From a command line; see ParseCpuEngineOptions.
absl::StatusOr<std::unique_ptr<Engine>> OpenCpuEngine(std::string_view spec);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_CPU_CPU_ENGINE_H_
