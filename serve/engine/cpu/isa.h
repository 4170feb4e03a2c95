// What this machine's processor can do, found at run time: nothing is decided when we are compiled.
#ifndef TRELLIS_SERVE_ENGINE_CPU_ISA_H_
#define TRELLIS_SERVE_ENGINE_CPU_ISA_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace trellis::engine::cpu {

// For our own kernels. The matrix products are oneDNN's, which chooses for itself.
enum class Isa : uint8_t { kPortable, kAvx2, kAvx512 };

Isa BestIsa();               // TRELLIS_ISA=portable|avx2 in the environment asks for less
std::vector<Isa> AllIsas();  // those of this machine, the best last

enum class Precision : uint8_t { kF32, kBf16, kInt8 };
std::string_view NameOf(Precision precision);

// Whether this machine has instructions for it. Unimplemented: it has not; the message says which are
// missing.
absl::Status Supports(Precision precision);

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_ISA_H_
