#include "serve/engine/cpu/amx.h"

#include "serve/engine/cpu/matmul.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace trellis::engine::cpu {

#if defined(__x86_64__)
namespace {

// Of arch/x86/include/uapi/asm/prctl.h, which glibc does not have yet.
constexpr long kRequestPermission = 0x1023;
constexpr long kTileState = 18;

constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;

// Which of these there are and may be used.
unsigned Detect() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!AllowsAmx() || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTile) == 0) return 0;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileState) != 0) return 0;
  return d & (kBf16 | kInt8);
}

// Palette 1 of the instruction's operand.
struct alignas(64) Shape {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(Shape) == 64);
constexpr Shape kShape;

// Not the constructor and destructor themselves: GCC does not carry the attribute to their clones.
__attribute__((target("amx-tile"))) void Configure() { _tile_loadconfig(&kShape); }
__attribute__((target("amx-tile"))) void Release() { _tile_release(); }

}  // namespace

bool HasAmx(Precision precision) {
  static const unsigned has = Detect();
  if (precision == Precision::kF32) return false;
  return (has & (precision == Precision::kInt8 ? kInt8 : kBf16)) != 0;
}

AmxTiles::AmxTiles() { Configure(); }
AmxTiles::~AmxTiles() { Release(); }
#else
bool HasAmx(Precision) { return false; }
AmxTiles::AmxTiles() = default;
AmxTiles::~AmxTiles() = default;
#endif

}  // namespace trellis::engine::cpu
