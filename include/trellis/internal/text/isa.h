// Which instruction set this process uses: chosen once, never per byte.
#ifndef TRELLIS_INTERNAL_TEXT_ISA_H_
#define TRELLIS_INTERNAL_TEXT_ISA_H_

#include <cstdint>
#include <string_view>

namespace trellis::internal {

enum class Isa : uint8_t { kPortable, kNeon, kAvx2, kAvx512 };

// The best one that this machine has and the build knows. The environment
// variable TRELLIS_ISA=portable|avx2|avx512 forces a lesser one (a better one
// than the machine has is not taken); read at the first call.
Isa ActiveIsa();

std::string_view IsaName(Isa isa);

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_TEXT_ISA_H_
