// A square of values turned over its diagonal, in registers of AVX-512.
#ifndef TRELLIS_SERVE_ENGINE_CPU_TRANSPOSE_H_
#define TRELLIS_SERVE_ENGINE_CPU_TRANSPOSE_H_

#include "serve/engine/cpu/lanes.h"

namespace trellis::engine::cpu {

// 16 rows of 16 values of 4 bytes each: columns become rows.
TRELLIS_LANES_INLINE void Transpose16(Lanes<16>::U (&r)[16]) {
  using Row = Lanes<16>::U;
  Row t[16];
  TRELLIS_UNROLL
  for (int i = 0; i < 16; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    t[i + 1] =
        __builtin_shufflevector(r[i], r[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  // Each now has columns 4q and 4q + 1, or 4q + 2 and 4q + 3, of two rows in its q-th quarter.
  TRELLIS_UNROLL
  for (int i = 0; i < 16; i += 4) {
    TRELLIS_UNROLL
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25,
                                             12, 13, 28, 29);
      r[i + 2 * j + 1] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11,
                                                 26, 27, 14, 15, 30, 31);
    }
  }
  // r[4g + c] has column 4q + c of rows 4g to 4g + 3 in its q-th quarter.
  TRELLIS_UNROLL
  for (int c = 0; c < 4; ++c) {
    const Row even_low =
        __builtin_shufflevector(r[c], r[c + 4], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const Row odd_low =
        __builtin_shufflevector(r[c], r[c + 4], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const Row even_high = __builtin_shufflevector(r[c + 8], r[c + 12], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18,
                                                  19, 24, 25, 26, 27);
    const Row odd_high = __builtin_shufflevector(r[c + 8], r[c + 12], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22,
                                                 23, 28, 29, 30, 31);
    // even: quarters 0 and 2 of one four of rows, then those of the next.
    t[c] = __builtin_shufflevector(even_low, even_high, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
                                   27);
    t[c + 8] = __builtin_shufflevector(even_low, even_high, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28,
                                       29, 30, 31);
    t[c + 4] =
        __builtin_shufflevector(odd_low, odd_high, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    t[c + 12] = __builtin_shufflevector(odd_low, odd_high, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29,
                                        30, 31);
  }
  TRELLIS_UNROLL
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_TRANSPOSE_H_
