#include "trellis/internal/text/isa.h"

#include <algorithm>
#include <cstdlib>

namespace trellis::internal {
namespace {

Isa Detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vbmi2")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) return Isa::kAvx2;
  return Isa::kPortable;
#elif defined(__aarch64__)
  return Isa::kNeon;
#else
  return Isa::kPortable;
#endif
}

Isa Choose() {
  const Isa best = Detect();
  const char* forced = std::getenv("TRELLIS_ISA");
  if (forced == nullptr) return best;
  const std::string_view name(forced);
  for (const Isa isa : {Isa::kPortable, Isa::kNeon, Isa::kAvx2, Isa::kAvx512}) {
    // Of another kind of processor, which the order does not tell.
    if (isa == Isa::kNeon && best != Isa::kNeon) continue;
    if (name == IsaName(isa)) return std::min(isa, best);
  }
  return best;
}

}  // namespace

Isa ActiveIsa() {
  static const Isa isa = Choose();
  return isa;
}

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kNeon:
      return "neon";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "portable";
}

}  // namespace trellis::internal
