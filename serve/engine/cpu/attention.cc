#include "serve/engine/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "serve/engine/cpu/lanes.h"
#include "serve/engine/cpu/transpose.h"

namespace trellis::engine::cpu {
namespace {

// Scores of filled-up keys: e to the power of it is nothing beside any other.
constexpr float kNoScore = -1e30f;

int RoundUp(int value, int to) { return (value + to - 1) / to * to; }

// R queries against panels of 2N keys, then R rows of weights against 2N columns of values. Where a shape is
// not full it is filled up with zeros, so that a row's result does not depend on what happens to be there.
template <int N, int R>
struct Head {
  using L = Lanes<N>;
  using F = typename L::F;
  static constexpr int kPanel = 2 * N;

  const HeadOfRow& head;
  float *keys, *values, *queries, *scores;
  int padded_tokens, padded_dim, score_stride;

  // Keys in panels [dim][kPanel], values in panels [tokens][kPanel].
  TRELLIS_LANES_INLINE void Pack() {
    for (int from = 0; from < padded_tokens; from += kPanel) {
      float* const panel = keys + static_cast<size_t>(from) * static_cast<size_t>(head.head_dim);
      if constexpr (N == 16) {
        if (head.head_dim % N == 0) {
          PackSquares(from, panel);
          continue;
        }
      }
      for (int j = 0; j < kPanel; ++j) {
        if (from + j < head.tokens) {
          const float* const key = head.keys + static_cast<size_t>(from + j) * head.stride;
          for (int d = 0; d < head.head_dim; ++d) panel[d * kPanel + j] = key[d];
        } else {
          for (int d = 0; d < head.head_dim; ++d) panel[d * kPanel + j] = 0;
        }
      }
    }
    for (int from = 0; from < padded_dim; from += kPanel) {
      float* const panel = values + static_cast<size_t>(from) * static_cast<size_t>(head.tokens);
      const int count = std::min(kPanel, head.head_dim - from);
      for (int t = 0; t < head.tokens; ++t) {
        const float* const value = head.values + static_cast<size_t>(t) * head.stride + from;
        float* const to = panel + static_cast<size_t>(t) * kPanel;
        std::memcpy(to, value, sizeof(float) * static_cast<size_t>(count));
        if (count < kPanel) std::memset(to + count, 0, sizeof(float) * static_cast<size_t>(kPanel - count));
      }
    }
  }

  // A panel of keys, 16 by 16 at a time.
  TRELLIS_LANES_INLINE void PackSquares(int from, float* panel) const {
    for (int j = 0; j < kPanel; j += 16) {
      for (int d = 0; d < head.head_dim; d += 16) {
        Lanes<16>::U square[16];
        TRELLIS_UNROLL
        for (int i = 0; i < 16; ++i) {
          square[i] = Lanes<16>::U{};
          const int token = from + j + i;
          if (token >= head.tokens) continue;
          std::memcpy(&square[i], head.keys + static_cast<size_t>(token) * head.stride + d, sizeof square[i]);
        }
        Transpose16(square);
        TRELLIS_UNROLL
        for (int i = 0; i < 16; ++i) std::memcpy(panel + (d + i) * kPanel + j, &square[i], sizeof square[i]);
      }
    }
  }

  // products[r][0..kPanel) = sum over k of left[r][k] * panel[k]
  TRELLIS_LANES_INLINE static void Multiply(const float* left, int left_stride, const float* panel, int depth,
                                            F (&sums)[R][2]) {
    TRELLIS_UNROLL
    for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = F{};
    for (int k = 0; k < depth; ++k) {
      F low, high;
      L::Load(panel + static_cast<size_t>(k) * kPanel, low);
      L::Load(panel + static_cast<size_t>(k) * kPanel + N, high);
      TRELLIS_UNROLL
      for (int r = 0; r < R; ++r) {
        const float factor = left[r * left_stride + k];
        sums[r][0] += factor * low;
        sums[r][1] += factor * high;
      }
    }
  }

  // Weights that are not yet divided by their sum; the sum.
  TRELLIS_LANES_INLINE float Soften(float* row) const {
    for (int t = head.tokens; t < padded_tokens; ++t) row[t] = kNoScore;
    F most;
    L::Load(row, most);
    for (int t = N; t < padded_tokens; t += N) {
      F v;
      L::Load(row + t, v);
      most = v > most ? v : most;
    }
    const float top = L::Max(most);
    F sum = {};
    for (int t = 0; t < padded_tokens; t += N) {
      F v;
      L::Load(row + t, v);
      v -= top;
      L::Exp(v);
      L::Store(v, row + t);
      sum += v;
    }
    return L::Sum(sum);
  }

  TRELLIS_LANES_INLINE void AttendBlock(int from, int rows, float* out, size_t out_stride) {
    const int dim = head.head_dim;
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
    for (int r = 0; r < R; ++r) {
      const float* const query =
          head.queries + static_cast<size_t>(from + std::min(r, rows - 1)) * head.stride;
      const float factor = r < rows ? scale : 0.0f;
      for (int d = 0; d < dim; ++d) queries[r * dim + d] = query[d] * factor;
    }
    F sums[R][2];
    for (int t = 0; t < padded_tokens; t += kPanel) {
      Multiply(queries, dim, keys + static_cast<size_t>(t) * static_cast<size_t>(dim), dim, sums);
      TRELLIS_UNROLL
      for (int r = 0; r < R; ++r) {
        L::Store(sums[r][0], scores + r * score_stride + t);
        L::Store(sums[r][1], scores + r * score_stride + t + N);
      }
    }
    float inverse[R] = {};
    for (int r = 0; r < rows; ++r) inverse[r] = 1.0f / Soften(scores + r * score_stride);
    for (int d = 0; d < padded_dim; d += kPanel) {
      Multiply(scores, score_stride, values + static_cast<size_t>(d) * static_cast<size_t>(head.tokens),
               head.tokens, sums);
      const int count = std::min(kPanel, dim - d);
      for (int r = 0; r < rows; ++r) {
        float* const to = out + static_cast<size_t>(from + r) * out_stride + d;
        const F low = sums[r][0] * inverse[r], high = sums[r][1] * inverse[r];
        float both[kPanel];
        L::Store(low, both);
        L::Store(high, both + N);
        std::memcpy(to, both, sizeof(float) * static_cast<size_t>(count));
      }
    }
  }
};

template <int N, int R>
TRELLIS_LANES_INLINE void Attend(const HeadOfRow& head, AttentionScratch& scratch, float* out,
                                 size_t out_stride) {
  using H = Head<N, R>;
  const int padded_tokens = RoundUp(head.tokens, H::kPanel);
  const int padded_dim = RoundUp(head.head_dim, H::kPanel);
  // Rows of scores a power of two apart would share the same few places of the cache.
  const int score_stride = padded_tokens + N;
  const auto area = [](int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); };
  H h{head,
      scratch.keys.Reserve(area(padded_tokens, head.head_dim)),
      scratch.values.Reserve(area(head.tokens, padded_dim)),
      scratch.queries.Reserve(area(R, head.head_dim)),
      scratch.scores.Reserve(area(R, score_stride)),
      padded_tokens,
      padded_dim,
      score_stride};
  h.Pack();
  for (int from = 0; from < head.tokens; from += R) {
    h.AttendBlock(from, std::min(R, head.tokens - from), out, out_stride);
  }
}

void AttendPortable(const HeadOfRow& head, AttentionScratch& scratch, float* out, size_t out_stride) {
  Attend<4, 4>(head, scratch, out, out_stride);
}
#if defined(__x86_64__)
TRELLIS_TARGET_AVX2 void AttendAvx2(const HeadOfRow& head, AttentionScratch& scratch, float* out,
                                    size_t out_stride) {
  Attend<8, 4>(head, scratch, out, out_stride);
}
TRELLIS_TARGET_AVX512 void AttendAvx512(const HeadOfRow& head, AttentionScratch& scratch, float* out,
                                        size_t out_stride) {
  Attend<16, 8>(head, scratch, out, out_stride);
}
#endif

}  // namespace

AttendFn AttendOf(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return AttendAvx512;
  if (isa == Isa::kAvx2) return AttendAvx2;
#endif
  (void)isa;
  return AttendPortable;
}

}  // namespace trellis::engine::cpu
