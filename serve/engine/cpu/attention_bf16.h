// Attention within one row with bf16 factors and float sums, softmax in float: by AMX tiles, or by
// avx512_bf16.
#ifndef TRELLIS_SERVE_ENGINE_CPU_ATTENTION_BF16_H_
#define TRELLIS_SERVE_ENGINE_CPU_ATTENTION_BF16_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "serve/engine/cpu/aligned.h"

namespace trellis::engine::cpu {

// As HeadOfRow in attention.h, in bf16.
struct Bf16HeadOfRow {
  const uint16_t* queries = nullptr;
  const uint16_t* keys = nullptr;
  const uint16_t* values = nullptr;
  size_t stride = 0;
  int tokens = 0;
  int head_dim = 0;
};

// One thread's memory; it grows to the longest row.
struct Bf16AttentionScratch {
  Aligned<uint16_t> keys, values, queries, weights;
  Aligned<float> scores, mixed;
};

// Where the head's vectors go, `stride` values apart: to one of the two.
struct Bf16HeadOut {
  float* numbers = nullptr;
  uint16_t* bf16 = nullptr;
  size_t stride = 0;
};

using Bf16AttendFn = void (*)(const Bf16HeadOfRow& head, Bf16AttentionScratch& scratch,
                              const Bf16HeadOut& out);

// Those of this machine, the best last; empty if it has no instructions for bf16.
std::vector<Bf16AttendFn> AllBf16Attends();

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_ATTENTION_BF16_H_
