#include "serve/engine/cpu/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cpu/matmul.h"

namespace trellis::engine::cpu {
namespace {

Isa Detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kPortable;
}

Isa Choose() {
  const Isa best = Detect();
  const char* const forced = std::getenv("TRELLIS_ISA");
  if (forced == nullptr) return best;
  for (const auto& [name, isa] : {std::pair{"portable", Isa::kPortable}, {"avx2", Isa::kAvx2}}) {
    if (name == std::string_view(forced)) return std::min(isa, best);
  }
  return best;
}

}  // namespace

Isa BestIsa() {
  static const Isa best = Choose();
  return best;
}

std::vector<Isa> AllIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= BestIsa()) isas.push_back(isa);
  }
  return isas;
}

std::string_view NameOf(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return "f32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kInt8:
      return "int8";
  }
  return "";
}

absl::Status Supports(Precision precision) {
  if (precision == Precision::kF32) return absl::OkStatus();
  bool has = false;
#if defined(__x86_64__)
  __builtin_cpu_init();
  has = BestIsa() == Isa::kAvx512 && (precision == Precision::kBf16 ? __builtin_cpu_supports("avx512bf16")
                                                                    : __builtin_cpu_supports("avx512vnni"));
#endif
  if (has && HasProducts(precision)) return absl::OkStatus();
  // Without VNNI the products of unsigned and signed bytes saturate; without avx512_bf16 they are emulated.
  const char* const missing = precision == Precision::kBf16 ? "avx512_bf16" : "avx512_vnni";
  return absl::UnimplementedError(
      absl::StrCat("dtype=", std::string(NameOf(precision)), ": this processor has no ", missing,
                   " (or TRELLIS_ISA or ONEDNN_MAX_CPU_ISA hides it), expected dtype=f32"));
}

}  // namespace trellis::engine::cpu
