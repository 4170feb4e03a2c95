// Which model, how exactly and with how many threads, and how to say so on a command line.
#ifndef TRELLIS_SERVE_ENGINE_CPU_CPU_OPTIONS_H_
#define TRELLIS_SERVE_ENGINE_CPU_CPU_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/isa.h"

namespace trellis::engine {

struct CpuEngineOptions {
  std::string folder;
  std::optional<cpu::Precision> precision;  // none: DefaultPrecision()
  int threads = 0;                          // 0: as many as this process may run on
};

// bf16 where the processor has instructions for it, else f32. Not int8, which changes rankings now and then.
cpu::Precision DefaultPrecision();
int DefaultThreads();

// "FOLDER[,dtype=auto|f32|bf16|int8][,threads=N]". A folder with a comma in its name cannot be said this way.
// InvalidArgument names key, value and what was expected.
absl::StatusOr<CpuEngineOptions> ParseCpuEngineOptions(std::string_view spec);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_CPU_CPU_OPTIONS_H_
