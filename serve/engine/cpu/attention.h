// Attention within one row of a batch: rows have different lengths and no padding.
#ifndef TRELLIS_SERVE_ENGINE_CPU_ATTENTION_H_
#define TRELLIS_SERVE_ENGINE_CPU_ATTENTION_H_

#include <cstddef>

#include "serve/engine/cpu/aligned.h"
#include "serve/engine/cpu/isa.h"

namespace trellis::engine::cpu {

// One head of one row: `tokens` vectors of head_dim values each for queries, keys and values, `stride` floats
// apart.
struct HeadOfRow {
  const float* queries = nullptr;
  const float* keys = nullptr;
  const float* values = nullptr;
  size_t stride = 0;
  int tokens = 0;
  int head_dim = 0;
};

// One thread's memory; it grows to the longest row.
struct AttentionScratch {
  Aligned<float> keys, values, queries, scores;
};

// out[t] = sum over u of softmax over u(queries[t] . keys[u] / sqrt(head_dim)) * values[u]; `out_stride`
// floats apart.
using AttendFn = void (*)(const HeadOfRow& head, AttentionScratch& scratch, float* out, size_t out_stride);

AttendFn AttendOf(Isa isa);

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_ATTENTION_H_
